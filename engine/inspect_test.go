package engine_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/engine"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "order:42", true},
		{"order:*", "order:42", true},
		{"order:*", "orders:42", false},
		{"*:42", "order:42", true},
		{"*:42", "order:421", false},
		{"o*r*2", "order:42", true},
		{"order:4?", "order:42", true},
		{"order:4?", "order:4", false},
		{`order:\*`, "order:*", true},
		{`order:\*`, "order:42", false},
		{`order:\?`, "order:?", true},
		{`a\`, `a\`, true},
		{"a[b]", "a[b]", true},
		{"a[b]", "ab", false},
		{strings.Repeat("*a", 40) + "b", strings.Repeat("a", 1000), false}, // without exponential backtracking
	} {
		if got := engine.Match(c.pattern, c.key); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.key, got, c.want)
		}
	}
}
