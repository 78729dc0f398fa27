package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// namingL1 is a test file that names L1 in each possible way.
const namingL1 = `package p

// TestDoc proves L1.
func TestDoc(t *testing.T) {}

func TestRun[T1 any](t *testing.T) {
	t.Run("L1: a subtest", nil)
	t.Errorf("L2 and L4 are %v", 1) // P99
}

var laws = []string{"a law (L1)"}

// L3 is somewhere in this file.
`

func TestProve(t *testing.T) {
	got := make(map[string][]string)
	if err := prove(got, "p_test.go", namingL1); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"L1": {"`p_test.go: TestDoc`", "`p_test.go: TestRun/L1: a subtest`", "`p_test.go: a law (L1)`"},
		"L2": {"`p_test.go: TestRun`"},
		"L3": {"`p_test.go`"},
		"L4": {"`p_test.go: TestRun`"},
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("proofs are %v, want %v", got, want)
	}
}

// requirementTree is a repository in which every requirement is open, apart from
// the given row of L1.
func requirementTree(t *testing.T, row string) tree {
	t.Helper()
	var page strings.Builder
	page.WriteString(row + "\n")
	for id := range allIDs {
		if id != "L1" {
			page.WriteString("| " + id + " | It works. | open |  |\n")
		}
	}
	root := t.TempDir()
	in := tree{FS: os.DirFS(root), root: root, files: []string{"docs/requirements.md", "p.go", "p_test.go"}}
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{page.String(), "package p\n", "package p\n\n// TestL1 proves L1.\nfunc TestL1(t *testing.T) {}\n"} {
		if err := in.write(in.files[i], text); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func TestRequirements(t *testing.T) {
	for name, c := range map[string]struct {
		row  string
		want []string
	}{
		"a requirement with its test":        {"| L1 | It locks. | met | `p_test.go: TestL1` |", nil},
		"an open requirement with a test":    {"| L1 | It locks. | open | `p_test.go: TestL1` |", nil},
		"a test that is not listed":          {"| L1 | It locks. | met | |", []string{"docs/requirements.md:1: L1: the list of tests that name it is out of date (make fmt)"}},
		"a listed test that does not exist":  {"| L1 | It locks. | met | `p_test.go: TestGone` |", []string{"docs/requirements.md:1: L1: the list of tests that name it is out of date (make fmt)"}},
		"a missing requirement":              {"", []string{"docs/requirements.md: L1 is missing"}},
		"a met requirement without any test": {"| L1 | It locks. | open | `p_test.go: TestL1` |\n| L2 | It works. | met |  |", []string{"docs/requirements.md:2: L2: no test names it: mark it open", "docs/requirements.md:L2: appears twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, wrong, err := requirements(requirementTree(t, c.row))
			for i, line := range wrong {
				if strings.HasSuffix(line, "appears twice") { // its line depends on the order of a map
					wrong[i] = "docs/requirements.md:L2: appears twice"
				}
			}
			slices.Sort(wrong)
			if err != nil || !slices.Equal(wrong, c.want) {
				t.Errorf("errors are %q, %v; want %q", wrong, err, c.want)
			}
		})
	}
}

func TestFixRequirements(t *testing.T) {
	in := requirementTree(t, "| L1 | It locks. | met | |")
	in.fix = true
	if _, wrong, err := requirements(in); err != nil || len(wrong) != 0 {
		t.Fatalf("requirements with -fix: got %q, %v; want no errors", wrong, err)
	}
	in.fix = false
	if _, wrong, err := requirements(in); err != nil || len(wrong) != 0 {
		t.Errorf("after a fix: got %q, %v; want no errors", wrong, err)
	}
}

func TestIDsOutsideOfTests(t *testing.T) {
	files := fstest.MapFS{
		"a.go":      {Data: []byte("package a\n\n// F is T8.\nfunc F[T1 any]() {}\n\nvar s = \"one two R3\"\n")},
		"b.md":      {Data: []byte("`a_test.go: TestA/L1` and P99, but not S4\n")},
		"c.lua":     {Data: []byte("return 1 -- L2\n")},
		"d_test.go": {Data: []byte("package a\n\n// T8\n")},
	}
	_, wrong, err := tree{FS: files, files: slices.Sorted(maps.Keys(files))}.requirementProofs()
	want := []string{"a.go:3: requirement id T8 belongs in a test", "a.go:6: requirement id R3 belongs in a test", "b.md:1: requirement id S4 belongs in a test", "c.lua:1: requirement id L2 belongs in a test"}
	if err != nil || !slices.Equal(wrong, want) {
		t.Errorf("errors are %q, %v; want %q", wrong, err, want)
	}
}
