package woven

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// results are what a function returned, but for the error.
type results struct {
	out []any             // pointers to them, when they are kept
	raw []json.RawMessage // and what was kept of them
}

// A codec keeps results as a JSON array.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) { return json.Marshal(v.(results).out) }

func (codec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, &v.(*results).raw) }

// fill puts what was kept where outs point to: all of it, or nothing.
func (r *results) fill(outs []any) error {
	if len(r.raw) != len(outs) {
		return fmt.Errorf("woven: the function returned %d results then, and has %d now", len(r.raw), len(outs))
	}
	for i, out := range outs {
		if err := json.Unmarshal(r.raw[i], out); err != nil {
			for _, out := range outs[:i+1] {
				reflect.ValueOf(out).Elem().SetZero()
			}
			return fmt.Errorf("woven: result %d: %w", i+1, err)
		}
	}
	return nil
}

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// lossOf says what of a type JSON does not give back, or "". A value that comes back
// with less than it had is worse than none.
func lossOf(t reflect.Type) string { return loss(t, map[reflect.Type]bool{}) }

func loss(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] || speaksJSON(t) {
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
			return fmt.Sprintf("JSON does not say which %v it was", t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Sprintf("JSON has no %v", t)
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
			return fmt.Sprintf("JSON leaves out %v.%s", t, f.Name)
		case tag == "-":
			return fmt.Sprintf("its tag leaves out %v.%s", t, f.Name)
		}
		if why := loss(f.Type, seen); why != "" {
			return why
		}
	}
	return ""
}

// speaksJSON tells whether a type says itself how it is kept.
func speaksJSON(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return (t.Implements(marshaler) || p.Implements(marshaler)) && p.Implements(unmarshaler) ||
		(t.Implements(textMarshaler) || p.Implements(textMarshaler)) && p.Implements(textUnmarshaler)
}
