package weaving_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// An overlay cannot replace files in the module cache, so a module there is woven with
// -toolexec, which calls a -toolexec command of the user.
func TestWeavingOfTheModuleCache(t *testing.T) {
	command(t) // built before the environment changes
	tr := dependencyTree(t)
	for _, e := range tr.env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	args := func(words string) string {
		t.Helper()
		got, err := weave.Go(t.Context(), tr.dir, "il", strings.Fields(words))
		if err != nil {
			return err.Error()
		}
		return strings.Join(got, " ")
	}
	if got := args("run . -x"); got != "run -toolexec=il weave . -x" {
		t.Errorf("go run: got %s, want -toolexec", got)
	}
	if got := args("test -cover -overlay=own.json ./..."); !strings.Contains(got, "own.json: no such file") {
		t.Errorf("a missing overlay file: got %s, want an error that names it", got)
	}
	tr.write(t, map[string]string{"own.json": `{"Replace": {}}`})
	if got := args("test -cover -overlay=own.json ./..."); got != "test -toolexec=il weave -cover -overlay=own.json ./..." {
		t.Errorf("go test with the user's overlay: got %s, want -toolexec as well", got)
	}
	if got := args("build -toolexec=weave ."); got != "build -toolexec=weave ." {
		t.Errorf("go build with -toolexec=weave: got %s, want no change", got)
	}
	if got := args("build -toolexec=mine ."); got != "build -toolexec=il weave mine ." {
		t.Errorf("a second toolexec: got %s, want it called by ours", got)
	}
	cached := (*weave.CachedError)(nil)
	if path, err := weave.Overlay(t.Context(), tr.dir, nil); !errors.As(err, &cached) || cached.Module != "example.com/bank" {
		t.Errorf("Overlay of the module cache: got %q, %v; want a CachedError", path, err)
	}

	t.Run("with a vendor directory the overlay is used", func(t *testing.T) {
		tr.must(t, "go", "mod", "vendor")
		if got := args("run ."); !strings.HasPrefix(got, "run -overlay=") {
			t.Errorf("go run with a vendor directory: got %s, want -overlay", got)
		}
		if dir := tr.must(t, goArgs(t, overlay, "list", "-f={{.Dir}}", "example.com/bank")...); dir != filepath.Join(tr.dir, "vendor", "example.com", "bank")+"\n" {
			t.Errorf("the package is in %s, want the vendor directory", dir)
		}
	})
}
