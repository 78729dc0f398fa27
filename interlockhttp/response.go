package interlockhttp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Response is the stored response to a request.
type Response struct {
	Status  int
	Header  http.Header // as the handler set it, without fields that are only for the first client
	Body    []byte
	Trailer http.Header

	// Omitted is why the body was not stored. The request does not run again, and a
	// repeat gets a problem with the status and the Location.
	Omitted string

	// kept is the captured header. If it is not nil, it replaces Header. settings and before
	// decide which of its fields are stored; before is the header before the handler ran.
	kept     *headerSnapshot
	settings *settings
	before   http.Header
}

// MarshalBinary returns the stored form of the response, for operators that settle a
// request with [guard.Records.Resolve].
func (r *Response) MarshalBinary() ([]byte, error) { return wire{}.Marshal(r) }

// fields appends the stored header fields to a list, sorted by name.
func (r *Response) fields(list []field) []field {
	if r.kept == nil {
		eachField(r.Header, func(name string, values []string) { list = append(list, field{name, values}) })
		return list
	}
	for _, f := range r.kept.fields {
		if r.keeps(f) {
			list = append(list, f)
		}
	}
	return list
}

// eachField calls yield for the fields of a header, sorted by name.
func eachField(h http.Header, yield func(name string, values []string)) {
	if len(h) == 0 {
		return
	}
	var buf [16]string
	names := slices.AppendSeq(buf[:0], maps.Keys(h))
	slices.Sort(names)
	for _, name := range names {
		yield(name, h[name])
	}
}

// keeps reports whether a field is stored: the handler set it, and it differs from the
// value before the handler. Without a body, only the Location is stored.
func (r *Response) keeps(f field) bool {
	before, existed := r.before[f.name]
	switch {
	case existed && slices.Equal(f.values, before), !r.settings.keepsField(f.name):
		return false
	case len(f.values) == 0 && f.name != "Content-Type": // an empty Content-Type stops net/http from detecting one
		return false
	case strings.HasPrefix(f.name, http.TrailerPrefix):
		return false
	}
	return r.Omitted == "" || f.name == "Location" && r.Omitted != private
}

// The values of Omitted.
const (
	tooLong   = "too large"
	streamed  = "streamed"
	upgraded  = "upgraded" // the connection was hijacked
	brokenOff = "broken off"
	private   = "private" // the handler called Settle with Private
)

var errResponse = errors.New("interlockhttp: stored response is malformed")

// wire is the codec of responses: a fixed, versioned format that names no Go types.
//
//	version | status | omitted | header | trailer | body
//
// Numbers are unsigned varints. Texts and lists start with their length, and fields are
// sorted by name, so that a response has exactly one encoding.
type wire struct{}

const wireVersion = 1

// Marshal implements guard.Codec.
func (w wire) Marshal(v any) ([]byte, error) { return w.AppendMarshal(nil, v) }

// AppendMarshal is Marshal into a buffer of the guard.
func (wire) AppendMarshal(b []byte, v any) ([]byte, error) {
	r, ok := v.(*Response)
	if !ok || r == nil || r.Status < 100 || r.Status > 999 {
		return nil, fmt.Errorf("interlockhttp: %T is not a response that can be stored", v)
	}
	body, trailer := r.Body, r.Trailer
	if r.Omitted != "" {
		body, trailer = nil, nil
	}
	var buf [16]field // enough for most responses
	fields, size := r.fields(buf[:0]), 16+len(r.Omitted)+sizeOf(trailer)
	for _, f := range fields {
		size += sizeOfField(f.name, f.values)
	}
	b = slices.Grow(b, size+len(body))
	b = append(b, wireVersion)
	b = binary.AppendUvarint(b, uint64(r.Status)) //nolint:gosec // three digits
	b = appendText(b, r.Omitted)
	b = binary.AppendUvarint(b, uint64(len(fields)))
	for _, f := range fields {
		b = appendField(b, f.name, f.values)
	}
	b = binary.AppendUvarint(b, uint64(len(trailer)))
	eachField(trailer, func(name string, values []string) { b = appendField(b, name, values) })
	return appendText(b, body), nil
}

// headerSize returns an upper bound of the encoded header and trailer, in bytes.
func (r *Response) headerSize() int {
	n := sizeOf(r.Trailer)
	for _, f := range r.kept.fields {
		n += sizeOfField(f.name, f.values)
	}
	return n
}

func sizeOf(h http.Header) int {
	n := 0
	for name, values := range h {
		n += sizeOfField(name, values)
	}
	return n
}

// sizeOfField returns an upper bound. It allows 3 bytes for each of the two lengths of a
// field, and 4 bytes for the length of a value.
func sizeOfField(name string, values []string) int {
	n := 6 + len(name)
	for _, value := range values {
		n += 4 + len(value)
	}
	return n
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendField(b []byte, name string, values []string) []byte {
	b = appendText(b, name)
	b = binary.AppendUvarint(b, uint64(len(values)))
	for _, value := range values {
		b = appendText(b, value)
	}
	return b
}

// Unmarshal implements guard.Codec.
func (wire) Unmarshal(data []byte, v any) error {
	into, ok := v.(**Response)
	if !ok {
		return fmt.Errorf("interlockhttp: cannot decode a response into %T", v)
	}
	d := decoder{data: data}
	if d.byte() != wireVersion {
		return fmt.Errorf("%w: its version is unknown", errResponse)
	}
	r := &Response{Status: d.number(), Omitted: string(d.text()), Header: d.header(), Trailer: d.header()}
	r.Body = slices.Clone(d.text())
	if d.bad || len(d.data) > 0 || r.Status < 100 || r.Status > 999 {
		return errResponse
	}
	*into = r
	return nil
}

// A decoder reads untrusted data.
type decoder struct {
	data []byte
	bad  bool
}

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		d.bad = true
		return 0
	}
	c := d.data[0]
	d.data = d.data[1:]
	return c
}

// number reads a varint. A number is a status, or it counts bytes or items of at least one
// byte. So it refuses a number above 999 that is larger than the number of bytes left.
func (d *decoder) number() int {
	n, size := binary.Uvarint(d.data)
	if size <= 0 || n > uint64(max(len(d.data), 999)) {
		d.bad, d.data = true, nil
		return 0
	}
	d.data = d.data[size:]
	return int(n) //nolint:gosec // bounded above
}

// text returns a slice of the data, without copying it.
func (d *decoder) text() []byte {
	n := d.number()
	if n > len(d.data) {
		d.bad, d.data = true, nil
		return nil
	}
	text := d.data[:n]
	d.data = d.data[n:]
	return text
}

// header reads fields that must be sorted and unique, so that a response has one encoding.
func (d *decoder) header() http.Header {
	n := d.number()
	if n == 0 || n > len(d.data) {
		d.bad = d.bad || n > 0
		return nil
	}
	h := make(http.Header, min(n, 32))
	last := ""
	for i := range n {
		name := string(d.text())
		values := d.texts()
		if d.bad || i > 0 && name <= last {
			d.bad = true
			return nil
		}
		h[name], last = values, name
	}
	return h
}

func (d *decoder) texts() []string {
	n := d.number()
	if n > len(d.data) {
		d.bad = true
		return nil
	}
	texts := make([]string, 0, min(n, 8))
	for range n {
		if d.bad {
			return nil
		}
		texts = append(texts, string(d.text()))
	}
	return texts
}
