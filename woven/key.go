package woven

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/rule"
)

// A Part is a type that a key can be made of. Convert other types: key=id.String().
type Part interface {
	~string | ~bool |
		~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// A Key is a list of parts, joined like interlock.Key: different lists make different
// keys.
type Key struct {
	text  string
	parts uint8
	empty uint8 // the number of the first empty part, from 1; 0 if none is empty
}

// Key0 is a key without parts: all calls of a site share it.
func Key0() Key { return Key{} }

// Key1 is a key with one part. A string needs no allocation.
func Key1[A Part](a A) Key {
	if s, ok := any(a).(string); ok && plain(s) {
		return Key{text: s, parts: 1}
	}
	var buf [64]byte
	k := keyBuilder{b: buf[:0]}
	k = add(k, a)
	return k.key()
}

// Key2 is a key with two parts.
func Key2[A, B Part](a A, b B) Key {
	var buf [64]byte
	k := keyBuilder{b: buf[:0]}
	k = add(k, a)
	k = add(k, b)
	return k.key()
}

// Key3 is a key with three parts.
func Key3[A, B, C Part](a A, b B, c C) Key {
	var buf [64]byte
	k := keyBuilder{b: buf[:0]}
	k = add(k, a)
	k = add(k, b)
	k = add(k, c)
	return k.key()
}

// Key4 is a key with four parts.
func Key4[A, B, C, D Part](a A, b B, c C, d D) Key {
	var buf [64]byte
	k := keyBuilder{b: buf[:0]}
	k = add(k, a)
	k = add(k, b)
	k = add(k, c)
	k = add(k, d)
	return k.key()
}

// escaped marks the bytes that are escaped in a part.
var escaped = [256]bool{'%': true, ':': true, '{': true, '}': true}

// plain reports whether a string needs no escaping.
func plain(s string) bool {
	for i := range len(s) {
		if escaped[s[i]] {
			return false
		}
	}
	return s != ""
}

// A keyBuilder builds a key. It is passed by value, so that its buffer needs no allocation.
type keyBuilder struct {
	b            []byte
	parts, empty uint8
}

func (k keyBuilder) key() Key { return Key{text: string(k.b), parts: k.parts, empty: k.empty} }

func add[A Part](k keyBuilder, a A) keyBuilder {
	if k.parts++; k.parts > 1 {
		k.b = append(k.b, ':')
	}
	switch v := any(a).(type) { // common types, without an allocation
	case string:
		k = k.word(v)
	case int:
		k.b = strconv.AppendInt(k.b, int64(v), 10)
	case int64:
		k.b = strconv.AppendInt(k.b, v, 10)
	case int32:
		k.b = strconv.AppendInt(k.b, int64(v), 10)
	case uint64:
		k.b = strconv.AppendUint(k.b, v, 10)
	case uint32:
		k.b = strconv.AppendUint(k.b, uint64(v), 10)
	default:
		k = k.other(reflect.ValueOf(a))
	}
	return k
}

func (k keyBuilder) word(s string) keyBuilder {
	if s == "" && k.empty == 0 {
		k.empty = k.parts
	}
	k.b = rule.AppendEscaped(k.b, s)
	return k
}

// other adds a part of a named type.
func (k keyBuilder) other(v reflect.Value) keyBuilder {
	switch {
	case v.Kind() == reflect.String:
		return k.word(v.String())
	case v.Kind() == reflect.Bool:
		k.b = strconv.AppendBool(k.b, v.Bool())
	case v.CanInt():
		k.b = strconv.AppendInt(k.b, v.Int(), 10)
	default:
		k.b = strconv.AppendUint(k.b, v.Uint(), 10)
	}
	return k
}

// check refuses a key with an empty part: unrelated calls would share it.
func (k *Key) check() error {
	switch {
	case k.empty == 0:
		return nil
	case k.parts == 1:
		return fmt.Errorf("%w: the key is empty; check the expression after key=", interlock.ErrKey)
	}
	return fmt.Errorf("%w: part %d of %d is empty; check the expressions after key=", interlock.ErrKey, k.empty, k.parts)
}

// user splits the key into its first part, the user, and the rest.
func (k *Key) user() (user, id string) {
	user, id, _ = strings.Cut(k.text, ":")
	return unescape.Replace(user), id
}

var unescape = strings.NewReplacer("%25", "%", "%3A", ":", "%7B", "{", "%7D", "}")
