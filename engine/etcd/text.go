package etcd

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A text is any string in a value. JSON would change one that is not UTF-8, so such a text is
// written in base64, after a zero byte.
type text string

const binary = "\x00"

// MarshalJSON implements [json.Marshaler].
func (t text) MarshalJSON() ([]byte, error) {
	s := string(t)
	if !utf8.ValidString(s) || strings.HasPrefix(s, binary) {
		s = binary + base64.StdEncoding.EncodeToString([]byte(s))
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(s, binary); ok {
		decoded, err := base64.StdEncoding.DecodeString(rest)
		*t = text(decoded)
		return err
	}
	*t = text(s)
	return nil
}
