package interlockhttp

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxKey bounds a key that a client sends, in bytes.
const maxKey = 255

var (
	errNoKey     = errors.New("the key is missing")
	errEmptyKey  = errors.New("the key is empty")
	errLongKey   = fmt.Errorf("the key has more than %d bytes", maxKey)
	errBareKey   = errors.New("the key is not quoted")
	errTwoKeys   = errors.New("there are two keys")
	errBadQuotes = errors.New("the key starts with a quotation mark, but is not a structured-field string")
	errBadByte   = errors.New("the key has characters other than visible ASCII")
)

// parseKey returns the key in a field value: a structured-field string (RFC 9651), or the
// same without quotation marks, as many services use it. Both forms are the same key, so
// that a client may switch between two tries.
func parseKey(value string, strict bool) (string, error) {
	quoted := strings.HasPrefix(value, `"`)
	key, err := value, error(nil)
	switch {
	case quoted:
		key, err = unquote(value)
	case value == "":
		err = errEmptyKey
	case strict:
		err = errBareKey
	case strings.IndexFunc(value, notBare) >= 0:
		err = errBadByte
	}
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", errEmptyKey
	case len(key) > maxKey:
		return "", errLongKey
	}
	return key, nil
}

// notBare reports whether c is not allowed in an unquoted key: it is invisible, or a
// delimiter of header fields.
func notBare(c rune) bool {
	return c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == ',' || c == ';'
}

// unquote returns the content of a quoted string. Parameters after it are ignored.
func unquote(value string) (string, error) {
	for i := 1; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			if !parameters(value[i+1:]) {
				return "", errBadQuotes
			}
			return unescape(value[1:i]), nil
		case c == '\\':
			if i++; i == len(value) || value[i] != '"' && value[i] != '\\' {
				return "", errBadQuotes
			}
		case c < ' ' || c > '~':
			return "", errBadByte
		}
	}
	return "", errBadQuotes
}

// unescape removes backslashes. It allocates only if there are any.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// parameters reports whether s is a list of parameters, which may be empty. Their values
// are only parsed to find their end.
func parameters(s string) bool {
	for s = strings.TrimRight(s, " "); s != ""; {
		if s[0] != ';' {
			return false
		}
		s = strings.TrimLeft(s[1:], " ")
		name := strings.IndexFunc(s, notInName)
		if name < 0 {
			name = len(s)
		}
		if name == 0 || s[0] != '*' && (s[0] < 'a' || s[0] > 'z') {
			return false
		}
		if s = s[name:]; strings.HasPrefix(s, "=") {
			n := parameterValue(s[1:])
			if n == 0 {
				return false
			}
			s = s[1+n:]
		}
	}
	return true
}

func notInName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("_-.*", c)
}

// parameterValue returns the length of the value at the start of s; zero if it is invalid.
func parameterValue(s string) int {
	if !strings.HasPrefix(s, `"`) {
		n := strings.IndexFunc(s, notBare)
		if n < 0 {
			n = len(s)
		}
		return n
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i++
		case c < ' ' || c > '~':
			return 0
		}
	}
	return 0
}

// checkID checks a key that is not from a header or cookie. It may be in any language, but
// must not have control characters.
func checkID(id string) error {
	switch {
	case id == "":
		return errEmptyKey
	case len(id) > maxKey:
		return errLongKey
	case !utf8.ValidString(id) || strings.IndexFunc(id, unicode.IsControl) >= 0:
		return errBadByte
	}
	return nil
}
