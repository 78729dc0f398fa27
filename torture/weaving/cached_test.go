package weaving_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// Go allows no overlay of files in the module cache. A module there is woven with
// -toolexec; if that is not possible, the error says what to do.
func TestWeavingOfTheModuleCache(t *testing.T) {
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
		t.Errorf("the command becomes %s", got)
	}
	if got := args("test -cover -overlay=own.json ./..."); !strings.Contains(got, "own.json: no such file") {
		t.Errorf("a missing overlay file: got %s", got)
	}
	tr.write(t, map[string]string{"own.json": `{"Replace": {}}`})
	if got := args("test -cover -overlay=own.json ./..."); got != "test -toolexec=il weave -cover -overlay=own.json ./..." {
		t.Errorf("the command becomes %s", got)
	}
	if got := args("build -toolexec=weave ."); got != "build -toolexec=weave ." {
		t.Errorf("the command becomes %s", got)
	}
	if got := args("build -toolexec=mine ."); !strings.Contains(got, "directives in example.com/bank") || !strings.Contains(got, "go mod vendor") {
		t.Errorf("a second toolexec: got %s, want an error", got)
	}
	cached := (*weave.CachedError)(nil)
	if path, err := weave.Overlay(t.Context(), tr.dir, nil); !errors.As(err, &cached) || cached.Module != "example.com/bank" {
		t.Errorf("Overlay of the module cache: got %q, %v; want a CachedError", path, err)
	}

	t.Run("with a vendor directory the overlay is used", func(t *testing.T) {
		tr.must(t, "go", "mod", "vendor")
		if got := args("run ."); !strings.HasPrefix(got, "run -overlay=") {
			t.Errorf("the command becomes %s", got)
		}
		if dir := tr.must(t, goArgs(t, overlay, "list", "-f={{.Dir}}", "example.com/bank")...); dir != filepath.Join(tr.dir, "vendor", "example.com", "bank")+"\n" {
			t.Errorf("the package is in %s", dir)
		}
	})
}
