package weave_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// leastMistakes is how many the table is to have at least.
const leastMistakes = 40

// A slip is a source with a mistake, and what is said about it.
type slip struct{ name, source, said string }

// slips are the table in testdata/mistakes.txt: a name, a source, and behind ==
// what is said about it.
func slips(t testing.TB) (all []slip) {
	t.Helper()
	text, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for c := range strings.SplitSeq(strings.TrimPrefix(string(text), "-- "), "\n-- ") {
		name, rest, _ := strings.Cut(c, " --\n")
		source, said, _ := strings.Cut(rest, "\n==\n")
		all = append(all, slip{name, source + "\n", strings.TrimSuffix(said, "\n")})
	}
	return all
}

func TestEveryMistakeIsToldWithItsPlace(t *testing.T) {
	var all strings.Builder
	cases := slips(t)
	for _, c := range cases {
		got := "nothing"
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/src/shop/a.go", Name: "a.go", Text: []byte(c.source)})
		if err != nil {
			got = err.Error()
		} else {
			t.Errorf("%s: no mistake was found; woven: %v", c.name, w != nil)
		}
		fmt.Fprintf(&all, "-- %s --\n%s==\n%s\n", c.name, c.source, got)
		for line := range strings.SplitSeq(got, "\n") {
			if !strings.HasPrefix(line, "a.go:") {
				t.Errorf("%s: %q does not say where", c.name, line)
			}
		}
	}
	golden(t, "testdata/mistakes.txt", []byte(all.String()))
	if len(cases) < leastMistakes {
		t.Errorf("the table has %d mistakes, and should have %d", len(cases), leastMistakes)
	}
}

// Before anything is compiled, an overlay tells all mistakes of a tree at once.
func TestEveryMistakeIsToldByAnOverlay(t *testing.T) {
	cases, sources := slips(t), map[string]string{}
	var want []string
	for i, c := range cases {
		dir := fmt.Sprintf("m%03d/", i)
		sources[dir+"a.go"] = c.source
		for line := range strings.SplitSeq(c.said, "\n") {
			want = append(want, dir+line)
		}
	}
	p := newProject(t, sources)
	_, err := weave.Overlay(t.Context(), p.dir, nil)
	if got := strings.Split(fmt.Sprint(err), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// With -toolexec the compiler is not even started on a file with a mistake, and
// the same is said.
func TestEveryMistakeIsToldByTheTool(t *testing.T) {
	for _, c := range slips(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("a.go", []byte(c.source), 0o644); err != nil {
				t.Fatal(err)
			}
			err := weave.Toolexec([]string{"/no/such/compile", "-p", "example.com/shop", "-o", "a.a", "a.go"})
			if fmt.Sprint(err) != c.said {
				t.Errorf("got\n%v\nwant\n%s", err, c.said)
			}
		})
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

// The go command reports the same: it runs the tool for every
// package.
func TestEveryMistakeIsToldByABuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library: make verify runs it")
	}
	cases, sources := slips(t), map[string]string{}
	for i, c := range cases {
		sources[fmt.Sprintf("m%03d/a.go", i)] = c.source
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, code := newProject(t, sources).run(t, "go", "build", "-toolexec="+self+" weave", "./...")
	if code == 0 {
		t.Error("it is built")
	}
	for i, c := range cases {
		for line := range strings.SplitSeq(c.said, "\n") {
			if !strings.Contains(out, fmt.Sprintf("m%03d/%s\n", i, line)) {
				t.Errorf("%s: no message says %q", c.name, line)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
