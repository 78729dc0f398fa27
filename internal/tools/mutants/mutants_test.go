package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
			t.Errorf("%s: %q, want %q", state, names, want)
		}
	}
}

func TestPattern(t *testing.T) {
	got := pattern([]string{"a_b", "group/c(d)"})
	if want := `^TestLaws$/^a_b$|^TestLaws$/^group$/^c\(d\)$`; got != want {
		t.Errorf("got %s, want %s", got, want)
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
		t.Errorf("got %v, want the survivor and the tame law", err)
	}
	if err := v.err(false); strings.Contains(err.Error(), "tame") {
		t.Errorf("got %v: of some mutants it cannot be said which laws are tame", err)
	}
}

// TestMutantsFitTheSource is what tells at once when a change makes a mutant
// meaningless; that they are killed takes longer to show.
func TestMutantsFitTheSource(t *testing.T) {
	root, err := rootDir()
	if err != nil {
		t.Skip(err)
	}
	for _, s := range sets() {
		seen := make(map[string]bool)
		for _, m := range s.mutants {
			text, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Errorf("%s %s: %v", s.name, m.name, err)
			} else if n := strings.Count(string(text), m.old); n != 1 || m.old == m.new {
				t.Errorf("%s %s: its old text is %d times in %s, want once, and another new one", s.name, m.name, n, m.file)
			}
			if seen[m.name] || m.why == "" {
				t.Errorf("%s %s: the name is taken, or there is no reason for it", s.name, m.name)
			}
			seen[m.name] = true
		}
	}
}

// TestTestsOfMutantsExist: a test that was renamed would let its mutants live.
func TestTestsOfMutantsExist(t *testing.T) {
	root, err := rootDir()
	if err != nil {
		t.Skip(err)
	}
	for _, s := range sets() {
		for mutant, name := range s.tests {
			pkg, test, _ := strings.Cut(name, ".")
			files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			if err != nil || !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "\nfunc "+test+"(t *testing.T) {\n")
			}) {
				t.Errorf("%s %s: there is no test %s: name the one that notices it", s.name, mutant, name)
			}
		}
	}
}
