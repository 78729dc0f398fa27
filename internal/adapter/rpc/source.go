package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Source finds the key of a call. The zero value finds nothing and is refused.
type Source struct {
	name    string // for the text of a problem
	message bool   // needs the message, which a stream does not have at its start
	shared  bool   // the key is chosen by the client
	get     func(context.Context, *Middleware, *Call) (string, error)
}

// KeyHeader is the header field in which clients send keys.
const KeyHeader = "idempotency-key"

// Header finds the key in a field of the header.
func Header(name string) Source {
	name = strings.ToLower(name)
	return Source{name: name, shared: true, get: func(_ context.Context, _ *Middleware, c *Call) (string, error) {
		values := c.Header(name)
		switch len(values) {
		case 0:
			return "", errNoKey
		case 1:
			return parseKey(values[0])
		}
		return "", errTwoKeys
	}}
}

// Content uses the message as its key.
func Content() Source {
	return Source{name: "a message", message: true, get: func(_ context.Context, m *Middleware, c *Call) (string, error) {
		return m.fingerprint(c)
	}}
}

// By finds the key in the message.
func By[T any](id func(T) string) Source {
	if id == nil {
		return Source{}
	}
	return Source{name: "an ID in the message", message: true, get: func(_ context.Context, _ *Middleware, c *Call) (string, error) {
		m, ok := c.Request.(T)
		if !ok {
			return "", fmt.Errorf("%w: By gets its key from a %T, and the request of %s is a %T", errSetUp, *new(T), c.Method, c.Request)
		}
		return checkID(id(m))
	}}
}

// Func finds the key with a function.
func Func(find func(ctx context.Context, request any) (string, error)) Source {
	if find == nil {
		return Source{}
	}
	return Source{name: "a key", get: func(ctx context.Context, _ *Middleware, c *Call) (string, error) {
		id, err := find(ctx, c.Request)
		if err != nil {
			return "", err
		}
		return checkID(id)
	}}
}

var (
	errNoKey    = errors.New("the key is missing")
	errTwoKeys  = errors.New("there are two keys")
	errShortKey = errors.New("the key is so short that it could be guessed")
	errLongKey  = fmt.Errorf("the key has more than %d bytes", maxKey)
	errBadKey   = errors.New("the key is empty, or has characters other than visible ASCII")
	errSetUp    = errors.New("the server is set up wrongly")
)

func (s Source) find(ctx context.Context, m *Middleware, c *Call) (string, error) {
	if s.message && c.Request == nil {
		return "", fmt.Errorf("%w: the key of %s is in a message, and a stream has none at its start: use a key in the metadata", errSetUp, c.Method)
	}
	return s.get(ctx, m, c)
}

// parseKey returns the key in a field. A key is the same with and without quotation marks,
// as in HTTP: interlockhttp.Transport sends them.
func parseKey(value string) (string, error) {
	key := value
	if inner, ok := strings.CutPrefix(value, `"`); ok {
		if inner, ok = strings.CutSuffix(inner, `"`); !ok {
			return "", errBadKey
		}
		if key, ok = unescape(inner); !ok {
			return "", errBadKey
		}
	} else if strings.ContainsAny(value, ` "\,;`) {
		return "", errBadKey
	}
	switch {
	case key == "", strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }):
		return "", errBadKey
	case len(key) > maxKey:
		return "", errLongKey
	}
	return key, nil
}

// unescape removes the backslashes of a quoted string (RFC 9651).
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return "", false
		case '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), true
}

// checkID checks a key that is not from the header. It may be in any language.
func checkID(id string) (string, error) {
	switch {
	case id == "":
		return "", errNoKey
	case len(id) > maxKey:
		return "", errLongKey
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return "", errBadKey
	}
	return id, nil
}
