package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/guard"
)

// The values of omitted.
const (
	tooLarge  = "too large"
	unencoded = "not encoded"
	private   = "private"
)

// An encoded is a message or an error as it is stored.
type encoded struct {
	failed bool // it is an error
	name   string
	data   []byte
}

// encode returns the message or the error of a reply.
func (r *Reply) encode(p Protocol) (*encoded, error) {
	e := &encoded{failed: r.Err != nil}
	var err error
	if e.failed {
		e.data, err = p.MarshalError(r.Err)
	} else {
		e.name, e.data, err = p.Marshal(r.Message)
	}
	return e, err
}

// storable prepares a reply for being stored. A reply that cannot be stored is marked, so
// that repeats learn that the call was done.
func (m *Middleware) storable(r *Reply) *Reply {
	if !m.Keeps() {
		return r
	}
	stored := &Reply{Header: keptFields(r.Header), Trailer: keptFields(r.Trailer)}
	e, err := r.encode(m.protocol)
	switch {
	case err != nil:
		r.omitted = unencoded
	case len(e.data) > m.settings.maxReply, sizeOf(stored.Header)+sizeOf(stored.Trailer) > maxHeaderBytes/2:
		r.omitted = tooLarge
	}
	stored.encoded, stored.omitted = e, r.omitted
	return stored
}

// notKept lists header fields that are not stored: they concern the connection, this one
// transmission, or only the first client. It has the fields of package interlockhttp, and those
// that gRPC adds.
var notKept = map[string]bool{
	"connection": true, "keep-alive": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"content-length": true, "content-type": true, "date": true, "server": true, "alt-svc": true, "server-timing": true, "strict-transport-security": true,
	"set-cookie": true, "set-cookie2": true, "clear-site-data": true, "authorization": true, "www-authenticate": true, "authentication-info": true,
	"x-csrf-token": true, "x-xsrf-token": true, "csrf-token": true,
	"x-request-id": true, "request-id": true, "x-correlation-id": true, "x-trace-id": true, "x-amzn-trace-id": true, "x-cloud-trace-context": true,
	"traceparent": true, "tracestate": true, "b3": true, "uber-trace-id": true, "grpc-trace-bin": true, "grpc-tags-bin": true,
	KeyHeader: true, fieldReplayed: true, fieldStored: true, fieldExpires: true, fieldUnguarded: true, fieldLocal: true, "interlock-outcome": true,
}

// notKeptPrefixes lists prefixes of further fields that are not stored.
var notKeptPrefixes = []string{"proxy-", "x-b3-", "ratelimit", "x-ratelimit", "x-rate-limit"}

// keptFields returns the fields that are stored.
func keptFields(h map[string][]string) map[string][]string {
	kept := maps.Clone(h)
	maps.DeleteFunc(kept, func(name string, _ []string) bool {
		name = strings.ToLower(name)
		return notKept[name] || slices.ContainsFunc(notKeptPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	return kept
}

func sizeOf(h map[string][]string) (n int) {
	for name, values := range h {
		n += len(name) + 8
		for _, value := range values {
			n += len(value) + 4
		}
	}
	return n
}

// wire is the codec of replies:
//
//	version | omitted | header | trailer | failed | type | message
//
// Numbers are unsigned varints. Texts and lists start with their length, and fields are
// sorted by name.
type wire struct{ protocol Protocol }

const wireVersion = 1

// Marshal implements guard.Codec.
func (w wire) Marshal(v any) ([]byte, error) { return w.AppendMarshal(nil, v) }

// AppendMarshal is Marshal into a buffer of the guard.
func (w wire) AppendMarshal(b []byte, v any) ([]byte, error) {
	r, ok := v.(*Reply)
	if !ok || r == nil {
		return nil, fmt.Errorf("rpc: %T is not a reply that can be stored", v)
	}
	e, err := r.encoded, error(nil)
	switch {
	case r.omitted != "":
		e, r = &encoded{}, &Reply{omitted: r.omitted}
	case e == nil: // made by a resolver or an operator
		e, err = r.encode(w.protocol)
	}
	if err != nil {
		return nil, err
	}
	b = appendText(append(b, wireVersion), r.omitted)
	b = appendHeader(appendHeader(b, r.Header), r.Trailer)
	failed := byte(0)
	if e.failed {
		failed = 1
	}
	return append(appendText(append(b, failed), e.name), e.data...), nil
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendHeader(b []byte, h map[string][]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(h)))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		b = binary.AppendUvarint(appendText(b, name), uint64(len(h[name])))
		for _, value := range h[name] {
			b = appendText(b, value)
		}
	}
	return b
}

var errReply = errors.New("rpc: stored reply is malformed")

// Unmarshal implements guard.Codec.
func (w wire) Unmarshal(data []byte, v any) error {
	into, ok := v.(**Reply)
	if !ok {
		return fmt.Errorf("rpc: cannot decode a reply into %T", v)
	}
	d := decoder{data: data}
	if d.byte() != wireVersion {
		return fmt.Errorf("%w: its version is unknown", errReply)
	}
	r := &Reply{omitted: d.text(), Header: d.header(), Trailer: d.header()}
	failed, name := d.byte(), d.text()
	if d.bad || failed > 1 {
		return errReply
	}
	var err error
	switch {
	case r.omitted != "":
	case failed == 1:
		r.Err, err = w.protocol.UnmarshalError(d.data)
	default:
		r.Message, err = w.protocol.Unmarshal(name, d.data)
	}
	*into = r
	return err
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

// number reads a varint that counts bytes, or items of at least one byte. So it refuses a
// number that is larger than the number of bytes left.
func (d *decoder) number() int {
	n, size := binary.Uvarint(d.data)
	if size <= 0 || n > uint64(len(d.data)-size) {
		d.bad, d.data = true, nil
		return 0
	}
	d.data = d.data[size:]
	return int(n) //nolint:gosec // at most len(d.data)
}

func (d *decoder) text() string {
	n := d.number()
	text := string(d.data[:n])
	d.data = d.data[n:]
	return text
}

func (d *decoder) header() map[string][]string {
	n := d.number()
	if n == 0 {
		return nil
	}
	h := make(map[string][]string)
	for range n {
		name, count := d.text(), d.number()
		for range count {
			h[name] = append(h[name], d.text())
		}
	}
	return h
}

var _ guard.Codec = wire{}
