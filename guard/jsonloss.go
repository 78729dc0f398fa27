package guard

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// LossOf describes what [JSON] loses of a value of type t: an unexported field, a field
// that its tag omits, the dynamic type of an interface value, or a channel. It returns
// "" if nothing is lost. An incomplete result is worse than none, so [New] refuses such
// a type.
func LossOf(t reflect.Type) string { return loss(t, map[reflect.Type]bool{}) }

func loss(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] || encodesItself(t) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return loss(t.Elem(), seen)
	case reflect.Map:
		return loss(t.Elem(), seen)
	case reflect.Struct:
		return lossOfFields(t, seen)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Sprintf("JSON loses the dynamic type of %v", t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Sprintf("JSON cannot represent %v", t)
	}
	return ""
}

func lossOfFields(t reflect.Type, seen map[reflect.Type]bool) string {
	for i := range t.NumField() {
		f := t.Field(i)
		embedded := f.Anonymous && f.Type.Kind() == reflect.Struct
		switch tag := f.Tag.Get("json"); {
		case f.Name == "_":
		case !f.IsExported() && !embedded:
			return fmt.Sprintf("JSON omits %v.%s", t, f.Name)
		case tag == "-":
			return fmt.Sprintf("the tag omits %v.%s", t, f.Name)
		}
		if why := loss(f.Type, seen); why != "" {
			return why
		}
	}
	return ""
}

// encodesItself reports whether a type has its own JSON encoding.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return (t.Implements(marshaler) || p.Implements(marshaler)) && p.Implements(unmarshaler) ||
		(t.Implements(textMarshaler) || p.Implements(textMarshaler)) && p.Implements(textUnmarshaler)
}
