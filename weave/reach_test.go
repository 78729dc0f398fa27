package weave_test

import (
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

// A file that only the user's overlay has is compiled as any other, and may rely on
// the marker of another: the program would start without its locks.
func TestFilesThatAnOverlayAddsAreWoven(t *testing.T) {
	const more = "package bank\n\n//interlock:lock kind=plain on-timeout=skip\nfunc More() {}\n"
	p := newProject(t, map[string]string{
		"bank.go":  bank,
		"more.txt": more,
		"own.json": `{"Replace": {
			"more.go": "more.txt", "_more.go": "more.txt", "more.c": "more.txt", "gone.go": "",
			"more/more.go": "on.txt", "testdata/more.go": "more.txt", "../more.go": "more.txt"}}`,
		"on.txt": strings.Replace(more, "\n", "\n\nimport _ \""+weave.Marker+"\"\n", 1),
	})
	if got, want := sited(t, p.dir, "-overlay=own.json"), "example.com/shop.Move example.com/shop.More example.com/shop/more.More"; got != want {
		t.Errorf("got %q, want %q", got, want)
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
		t.Skip("whoever runs this may read everything")
	}
	if got := sited(t, p.dir); got != "example.com/shop.Move" {
		t.Errorf("got %q", got)
	}
}
