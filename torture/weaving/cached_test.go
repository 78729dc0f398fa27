package weaving_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// Go allows no overlay of the module cache, so a module there is woven in the
// other way, and who cannot be helped like that is told what to do.
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
		t.Errorf("it becomes %s", got)
	}
	if got := args("test -cover -overlay=own.json ./..."); !strings.Contains(got, "own.json: no such file") {
		t.Errorf("an overlay that is not there becomes %s", got)
	}
	tr.write(t, map[string]string{"own.json": `{"Replace": {}}`})
	if got := args("test -cover -overlay=own.json ./..."); got != "test -toolexec=il weave -cover -overlay=own.json ./..." {
		t.Errorf("it becomes %s", got)
	}
	if got := args("build -toolexec=weave ."); got != "build -toolexec=weave ." {
		t.Errorf("it becomes %s", got)
	}
	if got := args("build -toolexec=mine ."); !strings.Contains(got, "directives in example.com/bank") || !strings.Contains(got, "go mod vendor") {
		t.Errorf("two tools stand between go and the compiler: %s", got)
	}
	cached := (*weave.CachedError)(nil)
	if path, err := weave.Overlay(t.Context(), tr.dir, nil); !errors.As(err, &cached) || cached.Module != "example.com/bank" {
		t.Errorf("an overlay of the module cache is %q, %v", path, err)
	}

	t.Run("the module cache is not used if there is a copy", func(t *testing.T) {
		tr.must(t, "go", "mod", "vendor")
		if got := args("run ."); !strings.HasPrefix(got, "run -overlay=") {
			t.Errorf("it becomes %s", got)
		}
		if said := tr.must(t, goArgs(t, overlay, "list", "-f={{.Dir}}", "example.com/bank")...); said != filepath.Join(tr.dir, "vendor", "example.com", "bank")+"\n" {
			t.Errorf("the package is in %s", said)
		}
	})
}
