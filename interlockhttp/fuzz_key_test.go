package interlockhttp

import (
	"strings"
	"testing"
)

// FuzzKey parses arbitrary text. A key that it yields is valid, and is the same key when it
// is quoted.
func FuzzKey(f *testing.F) {
	f.Fuzz(func(t *testing.T, value string) {
		key, err := parseKey(value, false)
		if err != nil {
			if key != "" {
				t.Errorf("parseKey(%q) = %q with an error, want no key", value, key)
			}
			return
		}
		if len(key) < 1 || len(key) > maxKey || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("parseKey(%q) = %q, want 1 to %d printable ASCII characters", value, key, maxKey)
		}
		for _, form := range []string{quote(key), quote(key) + `;a;b=1;c="x"`} {
			if again, err := parseKey(form, true); err != nil || again != key {
				t.Errorf("parseKey(%q) = %q, but parseKey(%q) = %q, %v", value, key, form, again, err)
			}
		}
		if strings.HasPrefix(value, `"`) {
			if bare, err := parseKey(key, false); err == nil && bare != key && !strings.HasPrefix(key, `"`) {
				t.Errorf("parseKey(%q) = %q, want the key unchanged", key, bare)
			}
		} else if key != value {
			t.Errorf("parseKey(%q) = %q, want an unquoted key unchanged", value, key)
		}
	})
}

// quote returns a key as a structured-field string.
func quote(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}
