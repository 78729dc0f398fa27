package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const printed = "\x16=== RUN   TestLaws\n" +
	"\x16=== RUN   TestLaws/one\n" +
	"    trial.go:7: something about TestLaws/two\n" +
	"\x16    --- FAIL: TestLaws/one (0.00s)\n" +
	"\x16=== RUN   TestLaws/group\n" +
	"\x16=== RUN   TestLaws/group/two\n" +
	"\x16--- PASS: TestLaws/group/two (0.01s)\n" +
	"\x16=== RUN   TestLaws/three\n" +
	"\x16=== PAUSE TestLaws/three\n" +
	"\x16=== RUN   TestLaws/four\n" +
	"\x16=== PAUSE TestLaws/four\n" +
	"\x16=== CONT  TestLaws/three\n" +
	"\x16=== RUN   TestLaws/five\n" +
	"\x16    --- SKIP: TestLaws/five (0.00s)\n" +
	"panic: test timed out after 1s\n"

func TestRead(t *testing.T) {
	got := read(printed)
	for state, want := range map[state][]string{
		failed: {"one"}, passed: {"group/two"}, running: {"three"}, paused: {"four"}, skipped: {"five"},
	} {
		if names := got.having(state); !slices.Equal(names, want) {
			t.Errorf("%s: got the laws %q, want %q", state, names, want)
		}
	}
}

const crashing = `package crashing

import "testing"

func TestLaws(t *testing.T) {
	t.Run("group", func(t *testing.T) {
		t.Run("holds", func(t *testing.T) {})
		t.Run("panics", func(t *testing.T) { panic("broken") })
		t.Run("fails", func(t *testing.T) { t.Error("broken") })
	})
	t.Run("also_holds", func(t *testing.T) {})
}
`

// TestPanic checks that a law that panics does not keep later laws from running.
func TestPanic(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module crashing\n\ngo 1.25\n", "laws_test.go": crashing} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	o, err := trial{dir: dir, pkg: ".", tmp: filepath.Join(dir, "tmp"), timeout: time.Minute}.run(t.Context())
	slices.Sort(o.failed)
	slices.Sort(o.passed)
	if err != nil || !slices.Equal(o.failed, []string{"group/fails", "group/panics"}) || !slices.Equal(o.passed, []string{"also_holds", "group/holds"}) {
		t.Errorf("run = %+v, error %v; want 2 failed laws and 2 passed laws", o, err)
	}
}

func TestPattern(t *testing.T) {
	got := pattern([]string{"a_b", "group/c(d)"})
	if want := `^TestLaws$/^a_b$|^TestLaws$/^group$/^c\(d\)$`; got != want {
		t.Errorf("pattern = %s, want %s", got, want)
	}
}

func TestVerdict(t *testing.T) {
	v := verdict{laws: []string{"a_law", "tame"}, kills: map[string][]string{
		"broad": {"a_law", "other", "third"}, "narrow": {"a_law"}, "survivor": nil,
	}}
	var b strings.Builder
	v.print(&b)
	if want := "a law → narrow, broad\ntame → \n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
	err := v.err(true)
	if err == nil || !strings.Contains(err.Error(), "survivor survived") || !strings.Contains(err.Error(), `breaks "tame"`) {
		t.Errorf("got %v, want the survivor and the law that no mutant breaks", err)
	}
	if err := v.err(false); strings.Contains(err.Error(), "tame") {
		t.Errorf("got %v; with only some of the mutants, unbroken laws must not be reported", err)
	}
}

// TestMutantsFitTheSource fails if a change of the source invalidates a mutant.
func TestMutantsFitTheSource(t *testing.T) {
	root, err := rootDir()
	if err != nil {
		t.Skip(err)
	}
	for _, s := range allSets(t) {
		seen := make(map[string]bool)
		for _, m := range s.mutants {
			text, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Errorf("%s %s: cannot read its file: %v", s.name, m.name, err)
			} else if n := strings.Count(string(text), m.old); n != 1 || m.old == m.new {
				t.Errorf("%s %s: its old text occurs %d times in %s, want once, and a different new text", s.name, m.name, n, m.file)
			}
			if seen[m.name] || m.why == "" {
				t.Errorf("%s %s: two mutants have this name, or the reason is missing", s.name, m.name)
			}
			seen[m.name] = true
		}
	}
}

// TestTestsOfMutantsExist fails if a test that a mutant names was renamed or removed.
func TestTestsOfMutantsExist(t *testing.T) {
	root, err := rootDir()
	if err != nil {
		t.Skip(err)
	}
	for _, s := range allSets(t) {
		for mutant, name := range s.tests {
			pkg, test, _ := strings.Cut(name, ".")
			test, part, _ := strings.Cut(test, "/")
			switch {
			case part == "":
			case test == "TestLaws":
				if !anyContains(t, filepath.Join(root, "engine/enginetest/laws_*.go"), `", "`+part+`", func(`) {
					t.Errorf("%s %s: there is no law %q: name a law that the mutant breaks", s.name, mutant, part)
				}
			case !anyContains(t, filepath.Join(root, pkg, "*_test.go"), `"`+part+`"`):
				t.Errorf("%s %s: %s has no part %q: name one that the mutant breaks", s.name, mutant, test, part)
			}
			if !anyContains(t, filepath.Join(root, pkg, "*_test.go"), "\nfunc "+test+"(t *testing.T) {\n") {
				t.Errorf("%s %s: there is no test %s: name a test that the mutant breaks", s.name, mutant, name)
			}
		}
	}
}

// anyContains reports whether one of the files that match a pattern contains a text.
func anyContains(t *testing.T, pattern, text string) bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		content, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(content), text)
	})
}

func allSets(t *testing.T) (all []set) {
	t.Helper()
	for _, name := range setNames {
		s, err := find(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestParsePatch(t *testing.T) {
	m, test, err := parsePatch("a-name: why not\ndir/file.go pkg.TestIt\n \tif x {\n-\t\tf()\n+\t\tg()\n \t}")
	if err != nil {
		t.Fatal(err)
	}
	want := mutant{name: "a-name", file: "dir/file.go", old: "\tif x {\n\t\tf()\n\t}\n", new: "\tif x {\n\t\tg()\n\t}\n", why: "why not"}
	if m != want || test != "pkg.TestIt" {
		t.Errorf("parsePatch = %+v, %s; want %+v, pkg.TestIt", m, test, want)
	}
	for _, bad := range []string{"no reason\nfile.go\n-x", "a: b\nfile.go", "a: b\nfile.go\nx"} {
		if _, _, err := parsePatch(bad); err == nil {
			t.Errorf("parsePatch(%q) returned no error", bad)
		}
	}
}
