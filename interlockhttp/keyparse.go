package interlockhttp

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxKey is how long a key may be that a client sends, in bytes.
const maxKey = 255

var (
	errNoKey     = errors.New("there is none")
	errEmptyKey  = errors.New("it is empty")
	errLongKey   = fmt.Errorf("it has more than %d bytes", maxKey)
	errBareKey   = errors.New("it is not quoted")
	errTwoKeys   = errors.New("there are two")
	errBadQuotes = errors.New("it begins with a quotation mark, but is no string of a structured field")
	errBadByte   = errors.New("it holds something else than visible ASCII characters")
)

// parseKey returns the key that a field value stands for: a string of a structured
// field (RFC 9651), or the same without quotation marks, as many services have it.
// Both forms of a key are the same key, so that a client may change from one to
// the other between two tries.
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

// notBare tells which characters a key without quotation marks may not have: all
// that is not visible, and what has a meaning in fields.
func notBare(c rune) bool {
	return c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == ',' || c == ';'
}

// unquote returns what is in a quoted string. Parameters behind it are allowed, and
// mean nothing.
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

// parameters tells whether s is a list of parameters, which may be empty. What
// their values are is not looked at, except for where they end.
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

// parameterValue returns how many bytes of s are a value; zero if none are.
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

// checkID refuses what cannot be a business key: it may be in any language, but
// not hold what nobody sees.
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
