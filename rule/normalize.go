package rule

import (
	"encoding/hex"
	"strings"
)

// normalize returns the canonical spelling of a value. It reports false if the value does
// not have the type.
func (t Type) normalize(value string) (string, bool) {
	switch t {
	case Int:
		return normalizeInt(value)
	case UUID:
		return normalizeUUID(value)
	case Lower:
		return strings.ToLower(value), true
	}
	return value, true
}

// normalizeInt removes leading zeros and a plus sign. The integer may have any size.
func normalizeInt(value string) (string, bool) {
	sign := ""
	digits, negative := strings.CutPrefix(value, "-")
	if negative {
		sign = "-"
	} else {
		digits = strings.TrimPrefix(digits, "+")
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0", true
	}
	return sign + digits, true
}

// normalizeUUID returns 32 hexadecimal digits in lower case with dashes.
func normalizeUUID(value string) (string, bool) {
	s := strings.ToLower(value)
	s = strings.TrimPrefix(s, "urn:uuid:")
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		if s, ok = strings.CutSuffix(inner, "}"); !ok {
			return "", false
		}
	}
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if _, err := hex.DecodeString(s); err != nil || len(s) != 32 {
		return "", false
	}
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:], true
}
