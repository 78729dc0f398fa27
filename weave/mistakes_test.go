package weave_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// leastMistakes is how many the table is to have at least.
const leastMistakes = 40

// The table is testdata/mistakes.txt: a name, a source, and behind == what is
// said about it.
func TestEveryMistakeIsToldWithItsPlace(t *testing.T) {
	text, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	cases := strings.Split(strings.TrimPrefix(string(text), "-- "), "\n-- ")
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, " --\n")
		source, _, _ := strings.Cut(rest, "\n==")
		got := "nothing"
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/src/shop/a.go", Name: "a.go", Text: []byte(source + "\n")})
		if err != nil {
			got = err.Error()
		} else {
			t.Errorf("%s: no mistake was found; woven: %v", name, w != nil)
		}
		fmt.Fprintf(&all, "-- %s --\n%s\n==\n%s\n", name, source, got)
		for line := range strings.SplitSeq(got, "\n") {
			if !strings.HasPrefix(line, "a.go:") {
				t.Errorf("%s: %q does not say where", name, line)
			}
		}
	}
	golden(t, "testdata/mistakes.txt", []byte(all.String()))
	if len(cases) < leastMistakes {
		t.Errorf("the table has %d mistakes, and should have %d", len(cases), leastMistakes)
	}
}

func TestMistakesComeInOrder(t *testing.T) {
	const source = `package shop

//interlock:lock wait=1h key=
func A() {}

//interlock:once kye=1 wiat=2
func B() {}
`
	_, err := weave.File(weave.Source{Package: "shop", Path: "/a.go", Text: []byte(source)})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) < 3 {
		t.Fatalf("only %q were found", lines)
	}
	for i, place := range []string{"/a.go:3:", "/a.go:6:1:", "/a.go:6:18:", "/a.go:6:24:"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], place) {
			t.Errorf("line %d of\n%s\nis not at %s", i+1, err, place)
		}
	}
}
