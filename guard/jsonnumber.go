package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// holdsAny reports whether a value of type t may hold a value of type any, whose numbers
// encoding/json rounds.
func holdsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsAny(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// unmarshalExactly is json.Unmarshal without rounded numbers.
func unmarshalExactly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the value")
	}
	restoreFloats(reflect.ValueOf(v))
	return nil
}

// restoreFloats replaces each json.Number in a value of type any by a float64, unless
// that would lose digits. A field of type json.Number stays as it is.
func restoreFloats(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			restoreFloats(v.Elem())
		}
	case reflect.Interface:
		if v.NumMethod() == 0 && v.CanSet() && !v.IsNil() {
			v.Set(reflect.ValueOf(restored(v.Interface())))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			restoreFloats(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			restoreFloats(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Interface {
			return // the values of other maps cannot be set
		}
		for _, key := range v.MapKeys() {
			if x := v.MapIndex(key); !x.IsNil() {
				v.SetMapIndex(key, reflect.ValueOf(restored(x.Interface())))
			}
		}
	}
}

// restored returns a decoded value of type any with its numbers restored.
func restored(x any) any {
	switch x := x.(type) {
	case json.Number:
		if f, err := x.Float64(); err == nil && exact(f, x.String()) {
			return f
		}
	case []any:
		for i := range x {
			x[i] = restored(x[i])
		}
	case map[string]any:
		for key := range x {
			x[key] = restored(x[key])
		}
	}
	return x
}

// exact reports whether f has all digits of text. A number with an exponent was encoded
// from a float, so nothing is lost.
func exact(f float64, text string) bool {
	return strings.ContainsAny(text, "eE") || strconv.FormatFloat(f, 'f', -1, 64) == text
}
