package interlock

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxKey is the longest key there may be, in bytes. Redis would take more;
	// a key this long is data that went astray.
	maxKey = 1024

	// tidyKey is the longest key that is not pointed out, in characters (T8).
	tidyKey = 64
)

// Key makes a key of a name and the identifiers of what is locked, joined by
// colons: Key("pay", "order", "42") is "pay:order:42". Parts are escaped so
// that no two lists of parts make the same key, whatever users put in them.
//
// A key with no identifier locks everything of that name at once. Where that
// is not meant, it is pointed out; see [Trace.Warned].
func Key(name string, ids ...string) string {
	if len(ids) == 0 {
		return escape(name)
	}
	var b strings.Builder
	b.WriteString(escape(name))
	for _, id := range ids {
		b.WriteByte(':')
		b.WriteString(escape(id))
	}
	return b.String()
}

// Braces are escaped because Redis Cluster reads them; an empty part, because
// a key must not end in a colon.
var escapes = strings.NewReplacer("%", "%25", ":", "%3A", "{", "%7B", "}", "%7D")

func escape(part string) string {
	if part == "" {
		return "%00"
	}
	return escapes.Replace(part)
}

// checkKey refuses what cannot name a lock on every engine.
func checkKey(key string) error {
	if !utf8.ValidString(key) {
		return fmt.Errorf("%w: %q is not UTF-8; encode binary identifiers, in hex for example", ErrKey, cut(key))
	}
	switch open := strings.IndexByte(key, '{'); {
	case key == "":
		return fmt.Errorf("%w: it is empty; name what is locked, such as %q", ErrKey, "order:42")
	case len(key) > maxKey:
		return fmt.Errorf("%w: %q… has %d bytes, %d are allowed; hash the long part", ErrKey, cut(key), len(key), maxKey)
	case strings.IndexFunc(key, unicode.IsControl) >= 0:
		return fmt.Errorf("%w: %q holds a control character", ErrKey, cut(key))
	case open < 0 && strings.IndexByte(key, '}') >= 0,
		open >= 0 && strings.IndexByte(key[open:], '}') < 2:
		return fmt.Errorf("%w: %q has a malformed hash tag; braces must enclose something, as in %q, or be escaped with Key", ErrKey, cut(key), "order:{42}")
	}
	return nil
}

// untidy says what a person should know about a key that works (T8), or "".
func untidy(key string) string {
	switch i := strings.LastIndexByte(key, ':'); {
	case utf8.RuneCountInString(key) > tidyKey:
		return fmt.Sprintf("key is longer than %d characters; it costs memory and traffic with every call", tidyKey)
	case i < 0:
		return "key has no identifier; it locks everything of that name at once"
	case i == len(key)-1:
		return "key ends in a colon; is an identifier missing?"
	}
	return ""
}

// cut shortens a key for a message.
func cut(key string) string {
	const most = 40
	if len(key) <= most {
		return key
	}
	return key[:most]
}
