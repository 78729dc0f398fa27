package weave_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// wovenFuncs lists the functions that a scan of dir weaves.
func wovenFuncs(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	tree, err := weave.Scan(t.Context(), dir, flags)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range tree.Sites {
		all = append(all, s.Func)
	}
	return strings.Join(all, " ")
}

func TestAModuleBehindASymbolicLinkIsWoven(t *testing.T) {
	p := newProject(t, map[string]string{"bank.go": bank})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.dir, link); err != nil {
		t.Skip("cannot create a symbolic link:", err)
	}
	t.Setenv("PWD", link)
	if got := wovenFuncs(t, link); got != "example.com/shop.Move" {
		t.Errorf("got %q, want example.com/shop.Move", got)
	}
}

// The go command compiles a file that exists only in the user's overlay.
func TestFilesThatAnOverlayAddsAreWoven(t *testing.T) {
	const more = "package bank\n\nimport _ \"" + weave.Marker + "\"\n\n//interlock:lock kind=plain on-timeout=skip\nfunc More() {}\n"
	p := newProject(t, map[string]string{
		"bank.go":  bank,
		"more.txt": more,
		"own.json": `{"Replace": {
			"more.go": "more.txt", "_more.go": "more.txt", "more.c": "more.txt", "gone.go": "",
			"more/more.go": "more.txt", "vendor/more.go": "more.txt", ".more/more.go": "more.txt", "../more.go": "more.txt"}}`,
		"bare.txt":  strings.Replace(more, "import _ \""+weave.Marker+"\"\n\n", "", 1),
		"bare.json": `{"Replace": {"bare.go": "bare.txt"}}`,
	})
	if got, want := wovenFuncs(t, p.dir, "-overlay=own.json"), "example.com/shop.Move example.com/shop.More example.com/shop/more.More"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := weave.Scan(t.Context(), p.dir, []string{"-overlay=bare.json"}); !strings.HasPrefix(fmt.Sprint(err), "bare.go:3:1: //interlock:lock: add import _ ") {
		t.Errorf("a file without the marker: got %v, want a request to add the import", err)
	}
}

// Directories such as testdata are not part of ./..., but they can be built by name or
// imported. The scan does not require the marker there.
func TestDirectoriesOutsideOfDotsAreWoven(t *testing.T) {
	p := newProject(t, map[string]string{
		"testdata/a/a.go": unmarked,
		"_b/b.go":         unmarked,
		"testdata/c/c.go": strings.Replace(unmarked, "key=id", "kye=id", 1),
		"testdata/d/d.go": "package d\n",
	})
	p.write(t, "testdata/m/go.mod", "module example.com/testdata/m\n")
	p.write(t, "testdata/m/m.go", bank)
	if got := wovenFuncs(t, filepath.Join(p.dir, "testdata/m")); got != "example.com/testdata/m.Move" {
		t.Errorf("a module in testdata: got %q, want example.com/testdata/m.Move", got)
	}
	tree, err := weave.Scan(t.Context(), p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"testdata/a/a.go": "ilsite/1{lock example.com/shop/testdata/a.Move}",
		"_b/b.go":         "ilsite/1{lock example.com/shop/_b.Move}",
		"testdata/c/c.go": "package bank;import _ \"" + weave.Marker + "\"",
	} {
		if w := tree.Files[filepath.Join(p.dir, name)]; w == nil || !strings.Contains(string(w.Text), want) {
			t.Errorf("%s: got %+v, want a text with %s", name, w, want)
		}
	}
	if len(tree.Files) != 3 || len(tree.Sites) != 0 {
		t.Errorf("got %d files and the sites %v, want 3 files and no sites", len(tree.Files), tree.Sites)
	}
}

func TestUnreadableFilesAreSkipped(t *testing.T) {
	p := newProject(t, map[string]string{"bank.go": bank, "data/base.go": bank, "secret.go": bank})
	for _, name := range []string{"data", "secret.go"} {
		path := filepath.Join(p.dir, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) //nolint:gosec // so that the cleanup can remove it
	}
	if _, err := os.ReadDir(filepath.Join(p.dir, "data")); err == nil {
		t.Skip("root may read everything")
	}
	if got := wovenFuncs(t, p.dir); got != "example.com/shop.Move" {
		t.Errorf("got %q, want example.com/shop.Move", got)
	}
}
