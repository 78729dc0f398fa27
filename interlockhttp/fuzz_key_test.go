package interlockhttp

import (
	"strings"
	"testing"
)

// FuzzKey parses arbitrary text: a result is valid as a key, quoted and unquoted.
func FuzzKey(f *testing.F) {
	f.Fuzz(func(t *testing.T, value string) {
		key, err := parseKey(value, false)
		if err != nil {
			if key != "" {
				t.Errorf("%q is no key, and is %q", value, key)
			}
			return
		}
		if len(key) < 1 || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%q is the key %q", value, key)
		}
		for _, form := range []string{quote(key), quote(key) + `;a;b=1;c="x"`} {
			if again, err := parseKey(form, true); err != nil || again != key {
				t.Errorf("%q is %q, but as %s it is %q, %v", value, key, form, again, err)
			}
		}
		if strings.HasPrefix(value, `"`) {
			if bare, err := parseKey(key, false); err == nil && bare != key && !strings.HasPrefix(key, `"`) {
				t.Errorf("%q without quotation marks is %q", key, bare)
			}
		} else if key != value {
			t.Errorf("%q is %q", value, key)
		}
	})
}

// quote returns a key as a structured-field string.
func quote(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}
