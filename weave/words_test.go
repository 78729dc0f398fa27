package weave_test

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// The rules are those of the go command, for GOFLAGS and -toolexec.
func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		"  ":                      nil,
		"a":                       {"a"},
		" a\t-b=c ":               {"a", "-b=c"},
		`'-toolexec=il weave' -v`: {"-toolexec=il weave", "-v"},
		`"a b" 'c "d"'`:           {"a b", `c "d"`},
		`a'b c'`:                  {"a'b", "c'"},
		`-x=""`:                   {`-x=""`},
		`''`:                      {""},
		`'open`:                   {"open"},
	} {
		if got := weave.Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
