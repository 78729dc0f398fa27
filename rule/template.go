package rule

import (
	"errors"
	"fmt"
	"slices"
)

// A Template makes the key of a request of its parts: pay:{path.id},
// {header.Idempotency-Key}, {jwt.sub}:{body.order.no}. It refuses a request that
// lacks one of them, or in which it is empty. Parts are escaped as by
// interlock.Key, and there is a colon between any two, so that no two requests
// with different parts get the same key. Braces that are meant as such are written
// twice.
type Template struct {
	text   string
	pieces []piece
}

// A piece is some text, or a part of the request if it has a place.
type piece struct {
	literal string // escaped
	place   Location
	name    string
}

// A Location is where in a request a part is looked for.
type Location string

// The places.
const (
	Path   Location = "path"   // what a pattern such as /orders/{id} matched
	Header Location = "header" // a header; case does not matter
	Query  Location = "query"  // of the URL
	Cookie Location = "cookie" // by name
	JWT    Location = "jwt"    // a claim of a token that was verified; dots lead into objects
	Body   Location = "body"   // a field of a JSON body; dots lead into objects
)

var places = []Location{Path, Header, Query, Cookie, JWT, Body}

// A Source is a request, as far as a [Template] is concerned. It tells whether
// there is such a part; of several values it has none, since nobody knows which
// one counts.
type Source interface {
	Part(place Location, name string) (value string, ok bool)
}

// ErrMissing means that a request lacks a part of its key. Errors that match it
// are a *[MissingError].
var ErrMissing = errors.New("rule: a part of the key is missing")

// A MissingError says which part of its key a request lacks.
type MissingError struct {
	Location Location
	Name     string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("rule: the request has no %s %q, which its key needs; send it", e.Location, e.Name)
}

// Is makes every MissingError match [ErrMissing].
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// Key returns the key of a request, or a *[MissingError].
func (t *Template) Key(s Source) (string, error) {
	var room [128]byte
	b := room[:0]
	for _, p := range t.pieces {
		if p.place == "" {
			b = append(b, p.literal...)
			continue
		}
		value, ok := s.Part(p.place, p.name)
		if !ok || value == "" {
			return "", &MissingError{p.place, p.name}
		}
		b = AppendEscaped(b, value)
	}
	return string(b), nil
}

// Constant tells whether every request gets the same key, which a person should
// know about (T8).
func (t *Template) Constant() bool {
	return !slices.ContainsFunc(t.pieces, func(p piece) bool { return p.place != "" })
}

// Uses tells whether the key has a part from the given place.
func (t *Template) Uses(place Location) bool {
	return slices.ContainsFunc(t.pieces, func(p piece) bool { return p.place == place })
}

// A Part is what a key takes from a request.
type Part struct {
	Place Location
	Name  string
}

// Parts returns what the key takes from a request, in the order in which it is
// written.
func (t *Template) Parts() []Part {
	var parts []Part
	for _, p := range t.pieces {
		if p.place != "" {
			parts = append(parts, Part{p.place, p.name})
		}
	}
	return parts
}

// String returns the template as it was written.
func (t *Template) String() string { return t.text }

// AppendEscaped appends a part of a key as interlock.Key writes it. The part is
// not empty.
func AppendEscaped(b []byte, part string) []byte {
	for i := range len(part) {
		switch c := part[i]; c {
		case '%':
			b = append(b, "%25"...)
		case ':':
			b = append(b, "%3A"...)
		case '{':
			b = append(b, "%7B"...)
		case '}':
			b = append(b, "%7D"...)
		default:
			b = append(b, c)
		}
	}
	return b
}
