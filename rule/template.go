package rule

import (
	"errors"
	"fmt"
	"slices"
)

// A Template makes a key from parts of a request: pay:{path.id},
// {header.Idempotency-Key}, {jwt.sub}:{body.order.no}. It refuses a request with a
// missing or empty part. It escapes parts like interlock.Key and requires a colon
// between two parts, so that requests with different parts get different keys. Write
// a literal brace twice.
//
// A part may have a type: {path.id:int} gives 7 and 007 the same key. A header may have
// alternatives: {header.Idempotency-Key|X-Idempotency-Key}.
type Template struct {
	text   string
	pieces []piece
}

// A piece is literal text, or a part of the request if it has a location.
type piece struct {
	literal string // escaped
	place   Location
	name    string
	typ     Type
}

// A Location is where a part is in a request.
type Location string

// The locations.
const (
	Path   Location = "path"   // a wildcard of a pattern such as /orders/{id}
	Header Location = "header" // a header; upper and lower case are equal
	Query  Location = "query"  // a query parameter of the URL
	Cookie Location = "cookie" // a cookie
	JWT    Location = "jwt"    // a claim of a verified token; dots select nested fields
	Body   Location = "body"   // a field of a JSON body; dots select nested fields
)

var locations = []Location{Path, Header, Query, Cookie, JWT, Body}

// A Type is how the value of a part is normalized, so that two spellings of one value
// get the same key.
type Type string

// The types.
const (
	Int   Type = "int"   // a decimal integer: 007 is 7
	UUID  Type = "uuid"  // with or without dashes, braces and urn:uuid:, in upper or lower case
	Lower Type = "lower" // text in lower case
)

var types = []Type{Int, UUID, Lower}

// A Source is a request as a [Template] sees it. Part reports ok only if the part has
// exactly one value. With several values it is not clear which one the upstream uses.
type Source interface {
	Part(l Location, name string) (value string, ok bool)
}

// ErrMissing means that a request has no value for a part of its key, or more than one.
// Errors that match it are a *[MissingError].
var ErrMissing = errors.New("rule: a part of the key is missing")

// A MissingError names the part of the key for which a request has no value, or more than
// one.
type MissingError struct {
	Location Location
	Name     string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("rule: the key needs the %s %q, exactly once and not empty; correct the request", e.Location, e.Name)
}

// Is makes every MissingError match [ErrMissing].
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// ErrInvalid means that a part of the key does not have the type that the template
// requires. Errors that match it are an *[InvalidError].
var ErrInvalid = errors.New("rule: a part of the key is invalid")

// An InvalidError says which part of a request's key does not have the type that the
// template requires.
type InvalidError struct {
	Location Location
	Name     string
	Type     Type
}

// Error implements error. It does not contain the value, which may be secret.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("rule: the %s %q of the key is not of type %s; correct the request", e.Location, e.Name, e.Type)
}

// Is makes every InvalidError match [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Key returns the key of a request, a *[MissingError], or an *[InvalidError].
func (t *Template) Key(s Source) (string, error) {
	var buf [128]byte
	b := buf[:0]
	for _, p := range t.pieces {
		if p.place == "" {
			b = append(b, p.literal...)
			continue
		}
		value, ok := s.Part(p.place, p.name)
		if !ok || value == "" {
			return "", &MissingError{p.place, p.name}
		}
		if value, ok = p.typ.normalize(value); !ok {
			return "", &InvalidError{p.place, p.name, p.typ}
		}
		b = AppendEscaped(b, value)
	}
	return string(b), nil
}

// Constant reports whether every request gets the same key.
func (t *Template) Constant() bool {
	return !slices.ContainsFunc(t.pieces, func(p piece) bool { return p.place != "" })
}

// Uses reports whether the key has a part from the given location.
func (t *Template) Uses(l Location) bool {
	return slices.ContainsFunc(t.pieces, func(p piece) bool { return p.place == l })
}

// A Part names the part of a request that stands in one place of a key.
type Part struct {
	Place Location
	Name  string // alternative headers are separated by |
	Type  Type   // if empty, the value is used as sent
}

// Parts returns the parts of the key in order.
func (t *Template) Parts() []Part {
	var parts []Part
	for _, p := range t.pieces {
		if p.place != "" {
			parts = append(parts, Part{p.place, p.name, p.typ})
		}
	}
	return parts
}

// String returns the text of the template.
func (t *Template) String() string { return t.text }

// AppendEscaped appends a non-empty part of a key, escaped like interlock.Key.
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
