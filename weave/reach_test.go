package weave_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// sited lists the functions that a scan of dir finds.
func sited(t *testing.T, dir string, flags ...string) string {
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

func TestAModuleBehindALinkIsWoven(t *testing.T) {
	p := newProject(t, map[string]string{"bank.go": bank})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.dir, link); err != nil {
		t.Skip("no links here:", err)
	}
	t.Setenv("PWD", link)
	if got := sited(t, link); got != "example.com/shop.Move" {
		t.Errorf("got %q", got)
	}
}

// A file that only the user's overlay has is compiled as any other.
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
	if got, want := sited(t, p.dir, "-overlay=own.json"), "example.com/shop.Move example.com/shop.More example.com/shop/more.More"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := weave.Scan(t.Context(), p.dir, []string{"-overlay=bare.json"}); !strings.HasPrefix(fmt.Sprint(err), "bare.go:3:1: //interlock:lock: add import _ ") {
		t.Errorf("without the marker: %v", err)
	}
}

// Nothing ensures that such packages have the marker, and ./... leaves them out;
// but they can be named, and imported.
func TestWhatIsBuiltOnlyIfNamedIsWoven(t *testing.T) {
	p := newProject(t, map[string]string{
		"testdata/a/a.go": unmarked,
		"_b/b.go":         unmarked,
		"testdata/c/c.go": strings.Replace(unmarked, "key=id", "kye=id", 1),
		"testdata/d/d.go": "package d\n",
	})
	p.write(t, "testdata/m/go.mod", "module example.com/testdata/m\n")
	p.write(t, "testdata/m/m.go", bank)
	if got := sited(t, filepath.Join(p.dir, "testdata/m")); got != "example.com/testdata/m.Move" {
		t.Errorf("a module in such a directory: %q", got)
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
			t.Errorf("%s became %+v", name, w)
		}
	}
	if len(tree.Files) != 3 || len(tree.Sites) != 0 {
		t.Errorf("%d files, and sites %v", len(tree.Files), tree.Sites)
	}
}

func TestWhatMayNotBeReadIsPassedOver(t *testing.T) {
	p := newProject(t, map[string]string{"bank.go": bank, "data/base.go": bank, "secret.go": bank})
	for _, name := range []string{"data", "secret.go"} {
		path := filepath.Join(p.dir, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o700) }) //nolint:gosec // to be removed
	}
	if _, err := os.ReadDir(filepath.Join(p.dir, "data")); err == nil {
		t.Skip("root may read everything")
	}
	if got := sited(t, p.dir); got != "example.com/shop.Move" {
		t.Errorf("got %q", got)
	}
}
