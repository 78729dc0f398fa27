package repo_test

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

func TestRepository(t *testing.T) {
	_, files, err := repo.Here()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.work", "internal/tools/repo/repo.go"} {
		if !slices.Contains(files, name) {
			t.Errorf("%s is not in the list of files", name)
		}
	}
	if ms := repo.Modules(files); len(ms) == 0 || ms[0] != (repo.Module{Path: repo.Path, Dir: "."}) {
		t.Errorf("the root is not the first module: %v", ms)
	}
}

func TestModules(t *testing.T) {
	ms := repo.Modules([]string{"a/b/go.mod", "a/go.mod", "a/testdata/go.mod", "go.mod", "x/main.go"})
	want := []repo.Module{
		{Path: repo.Path, Dir: "."},
		{Path: repo.Path + "/a", Dir: "a"},
		{Path: repo.Path + "/a/b", Dir: "a/b"},
	}
	if !slices.Equal(ms, want) {
		t.Fatalf("modules are %v, want %v", ms, want)
	}
	for file, dir := range map[string]string{"a.go": ".", "ab/c.go": ".", "a/c.go": "a", "a/bc.go": "a", "a/b/c/d.go": "a/b"} {
		if got := repo.Home(ms, file).Dir; got != dir {
			t.Errorf("%s belongs to module %s, want %s", file, got, dir)
		}
	}
}
