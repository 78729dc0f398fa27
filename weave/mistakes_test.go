package weave_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// minMistakes is the least number of mistakes in the table.
const minMistakes = 40

// A mistake is a source with a mistake, and the errors about it.
type mistake struct{ name, source, errors string }

// mistakes reads the table in testdata/mistakes.txt: a name, a source, and after == the
// errors.
func mistakes(t testing.TB) (all []mistake) {
	t.Helper()
	text, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for c := range strings.SplitSeq(strings.TrimPrefix(string(text), "-- "), "\n-- ") {
		name, rest, _ := strings.Cut(c, " --\n")
		source, errs, _ := strings.Cut(rest, "\n==\n")
		all = append(all, mistake{name, source + "\n", strings.TrimSuffix(errs, "\n")})
	}
	return all
}

func TestEveryMistakeIsReportedWithItsPosition(t *testing.T) {
	var all strings.Builder
	cases := mistakes(t)
	for _, c := range cases {
		got := "nothing"
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/src/shop/a.go", Name: "a.go", Text: []byte(c.source)})
		if err != nil {
			got = err.Error()
		} else {
			t.Errorf("%s: got no error, and a woven file: %v", c.name, w != nil)
		}
		fmt.Fprintf(&all, "-- %s --\n%s==\n%s\n", c.name, c.source, got)
		for line := range strings.SplitSeq(got, "\n") {
			if !strings.HasPrefix(line, "a.go:") {
				t.Errorf("%s: the error %q has no position", c.name, line)
			}
		}
	}
	golden(t, "testdata/mistakes.txt", []byte(all.String()))
	if len(cases) < minMistakes {
		t.Errorf("the table has %d mistakes, want at least %d", len(cases), minMistakes)
	}
}

// Overlay reports all mistakes of a tree at once, before anything is compiled.
func TestOverlayReportsEveryMistake(t *testing.T) {
	cases, sources := mistakes(t), map[string]string{}
	var want []string
	for i, c := range cases {
		dir := fmt.Sprintf("m%03d/", i)
		sources[dir+"a.go"] = c.source
		for line := range strings.SplitSeq(c.errors, "\n") {
			want = append(want, dir+line)
		}
	}
	p := newProject(t, sources)
	_, err := weave.Overlay(t.Context(), p.dir, nil)
	if got := strings.Split(fmt.Sprint(err), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// With -toolexec the errors are the same, and the compiler does not run on a file with a
// mistake.
func TestToolexecReportsEveryMistake(t *testing.T) {
	for _, c := range mistakes(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("a.go", []byte(c.source), 0o644); err != nil {
				t.Fatal(err)
			}
			err := weave.Toolexec([]string{"/no/such/compile", "-p", "example.com/shop", "-o", "a.a", "a.go"})
			if fmt.Sprint(err) != c.errors {
				t.Errorf("got\n%v\nwant\n%s", err, c.errors)
			}
		})
	}
}

func TestMistakesAreReportedInOrder(t *testing.T) {
	const source = `package shop

//interlock:lock wait=1h key=
func A() {}

//interlock:once kye=1 wiat=2
func B() {}
`
	_, err := weave.File(weave.Source{Package: "shop", Path: "/a.go", Text: []byte(source)})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) < 3 {
		t.Fatalf("got the errors %q, want at least 3", lines)
	}
	for i, place := range []string{"/a.go:3:", "/a.go:6:1:", "/a.go:6:18:", "/a.go:6:24:"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], place) {
			t.Errorf("error %d is not at %s:\n%s", i+1, place, err)
		}
	}
}

// The go command runs the tool for every package and prints the same errors.
func TestGoBuildReportsEveryMistake(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library: make verify runs it")
	}
	cases, sources := mistakes(t), map[string]string{}
	for i, c := range cases {
		sources[fmt.Sprintf("m%03d/a.go", i)] = c.source
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, code := newProject(t, sources).run(t, "go", "build", "-toolexec="+self+" weave", "./...")
	if code == 0 {
		t.Error("go build succeeded, want a failure")
	}
	for i, c := range cases {
		for line := range strings.SplitSeq(c.errors, "\n") {
			if !strings.Contains(out, fmt.Sprintf("m%03d/%s\n", i, line)) {
				t.Errorf("%s: the output lacks %q", c.name, line)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// A mistake fails the builds of its package and of packages that import it, and no others.
func TestAMistakeFailsOnlyBuildsThatNeedIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the standard library several times: make verify runs it")
	}
	p := newProject(t, map[string]string{
		"main.go":         shop,
		"main_test.go":    payTest,
		"bad/bad.go":      "package bad\n\n//interlock:lock kye=1\nfunc F() {}\n",
		"bad/bad_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { F() }\n",
		"user/user.go":    "package user\n\nimport _ \"example.com/shop/bad\"\n",
		"unmarked/f.go":   "package unmarked\n\n//interlock:lock kind=plain on-timeout=skip\nfunc F() {}\n",
		"test/test.go":    "package test\n",
		"test/a_test.go":  "package test\n\n//interlock:lock wiat=1\nfunc f() {}\n",
	})
	const bad, inTest = `bad/bad.go:3:18: //interlock:lock: unknown option "kye" (did you mean key?)`, `test/a_test.go:3:18: //interlock:lock: unknown option "wiat" (did you mean wait?)`
	for _, c := range []struct {
		args string
		want []string // mistakes
	}{
		{"run .", nil},
		{"test .", nil},
		{"build ./test", nil},
		{"build ./bad", []string{bad}},
		{"build ./user", []string{bad}},
		{"test ./user", []string{bad}},
		{"test -cover ./bad", []string{"bad.go:3:18: //interlock:lock: unknown option"}},
		{"build ./unmarked", []string{"unmarked/f.go:3:1: //interlock:lock: add import _ "}},
		{"build -cover ./unmarked", []string{"f.go"}}, // does not compile, because nothing provides the import of woven code
		{"test ./...", []string{bad, inTest}},
		{"test -vet=off -toolexec=env ./bad", []string{bad}},
	} {
		out, code := p.woven(t, strings.Fields(c.args)...)
		if (code != 0) != (c.want != nil) {
			t.Errorf("go %s: exit status %d, want a failure: %t\n%s", c.args, code, c.want != nil, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("go %s: the output lacks %q:\n%s", c.args, want, out)
			}
		}
	}
	if _, err := weave.Overlay(t.Context(), p.dir, nil); !strings.Contains(fmt.Sprint(err), bad) {
		t.Errorf("Overlay: got %v, want the mistakes", err)
	}
}
