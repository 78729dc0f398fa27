package interlockhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// NewKey returns a random UUID, which is unique and cannot be guessed. Make one for each
// intent of a user, and store it before the first request is sent: without the key, the
// request cannot be repeated safely.
func NewKey() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand documents that it never fails
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // version 4, variant 1: RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// WithKey returns a context whose requests a [Transport] sends with key. A program that
// stored the key can repeat a request even after a restart. Use one key for one intent: a
// server refuses two different requests under one key, or answers the second with the first
// response.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyed{}, key)
}

// KeyFrom returns the key of ctx. resp.Request.Context() has the key that a [Transport]
// sent.
func KeyFrom(ctx context.Context) (key string, ok bool) {
	key, ok = ctx.Value(keyed{}).(string)
	return key, ok
}

type keyed struct{}

// An intent is the key that all tries of a request share.
type intent struct {
	key   string
	value string // the value of the header field: the key, quoted or not
}

// intentOf returns the key of a request: from its header, its context, or the request
// that was redirected to it. A request without any of them gets a new key.
func (t *Transport) intentOf(req *http.Request) (intent, error) {
	values := valuesOf(req.Header, t.field)
	if len(values) > 1 {
		return intent{}, fmt.Errorf("interlockhttp: the request has %d keys; send one", len(values))
	}
	if len(values) == 1 {
		return intentIn(values[0])
	}
	key, ok := KeyFrom(req.Context())
	if !ok && req.Response != nil && req.Response.Request != nil {
		key, ok = KeyFrom(req.Response.Request.Context())
	}
	if !ok {
		key = NewKey()
	}
	if err := checkSendable(key); err != nil {
		return intent{}, err
	}
	if !t.bare {
		return intent{key, quoteKey(key)}, nil
	}
	if i := strings.IndexAny(key, ` "\,;`); i >= 0 {
		return intent{}, fmt.Errorf("interlockhttp: the key has the delimiter %q at byte %d; leave out Bare, so that it is quoted", key[i], i)
	}
	return intent{key, key}, nil
}

// intentIn returns the key of a request that already has one. The value is sent
// unchanged, since the caller knows which form the server expects.
func intentIn(value string) (intent, error) {
	key := value
	if strings.HasPrefix(value, `"`) {
		if inside, err := unquote(value); err == nil {
			key = inside
		}
	}
	return intent{key, value}, checkSendable(key)
}

// valuesOf returns all values of a header field, ignoring the case of its name.
func valuesOf(h http.Header, field string) (values []string) {
	for name, v := range h {
		if strings.EqualFold(name, field) {
			values = append(values, v...)
		}
	}
	return values
}

// checkSendable refuses keys that would be changed on the way. Its errors do not contain
// the key.
func checkSendable(key string) error {
	if key == "" {
		return errors.New("interlockhttp: the key is empty; make one with NewKey")
	}
	if len(key) > maxKey {
		return fmt.Errorf("interlockhttp: the key has %d bytes; the limit is %d", len(key), maxKey)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fmt.Errorf("interlockhttp: the key has %#02x at byte %d; only printable ASCII can be sent", key[i], i)
		}
	}
	return nil
}

// quoteKey returns key as a structured-field string: RFC 9651, section 4.1.6.
func quoteKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// setField sets the header field of the key in lower case, which hides it from net/http.
// When a reused connection breaks, net/http resends a request with an idempotency key at
// once, and the Transport cannot count that. net/http looks for the canonical names only,
// while servers accept any case.
func (n intent) setField(h http.Header, field string) {
	for name := range h {
		if strings.EqualFold(name, field) {
			delete(h, name)
		}
	}
	h[strings.ToLower(field)] = []string{n.value}
	for _, known := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[known]; ok {
			delete(h, known)
			h[strings.ToLower(known)] = values
		}
	}
}
