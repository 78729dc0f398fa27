package interlockhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// NewKey returns a key that nobody else has, and that nobody can guess: a random
// UUID. Make one for each thing that a user wants, and store it before the first
// request is sent: who has lost the key cannot ask again.
func NewKey() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // it never fails, says its documentation
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // version 4, variant 1: RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// WithKey returns a context that names what the requests made with it are about: a
// [Transport] sends them with key, today and after a restart. One intent is one
// request; two of them under one key are refused by the server, or worse.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyed{}, key)
}

// KeyFrom returns the key that ctx names. That of resp.Request.Context() is the
// one that a [Transport] sent.
func KeyFrom(ctx context.Context) (key string, ok bool) {
	key, ok = ctx.Value(keyed{}).(string)
	return key, ok
}

type keyed struct{}

// An intent is what all tries of a request have in common.
type intent struct {
	key   string
	value string // of the field: the key, quoted or not
}

// intentOf returns what a request is about: what its header says, or else its
// context, or else the request that was redirected here. A request without any of
// them is a new intent.
func (t *Transport) intentOf(req *http.Request) (intent, error) {
	values := valuesOf(req.Header, t.field)
	if len(values) > 1 {
		return intent{}, fmt.Errorf("interlockhttp: the request has %d keys; a request is about one thing", len(values))
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
		return intent{}, fmt.Errorf("interlockhttp: the key has %q at byte %d, which means something in a field; leave out Bare, so that it is quoted", key[i], i)
	}
	return intent{key, key}, nil
}

// intentIn returns the intent of a request that has a key already. Its value is
// sent as it is: whoever set it knows which form the server wants.
func intentIn(value string) (intent, error) {
	key := value
	if strings.HasPrefix(value, `"`) {
		if inside, err := unquote(value); err == nil {
			key = inside
		}
	}
	return intent{key, value}, checkSendable(key)
}

// valuesOf returns all values of a field, in whichever case its name is written.
func valuesOf(h http.Header, field string) (values []string) {
	for name, v := range h {
		if strings.EqualFold(name, field) {
			values = append(values, v...)
		}
	}
	return values
}

// checkSendable refuses what does not arrive as it was sent. What it says does not tell
// the key.
func checkSendable(key string) error {
	if key == "" {
		return errors.New("interlockhttp: the key is empty; make one with NewKey")
	}
	if len(key) > maxKey {
		return fmt.Errorf("interlockhttp: the key has %d bytes, and servers take %d", len(key), maxKey)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fmt.Errorf("interlockhttp: the key has %#02x at byte %d; only printable ASCII can be sent", key[i], i)
		}
	}
	return nil
}

// quoteKey returns key as a string of a structured field: RFC 9651, section 4.1.6.
func quoteKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// setField sets the field of the key, in a way that net/http does not know it by. A
// request in which it sees an idempotency key it sends again by itself, when a
// connection that was used before breaks: unpaced, and without anybody counting.
// It looks for the names in their canonical form only, while servers take them in
// any.
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
