package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const careless = `package main

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/memory"
)

func pay(ctx context.Context, c *interlock.Client, orderID string) error {
	return c.Mutex("pay").Do(ctx, func(context.Context) error {
		_, _, err := c.Mutex("stock:" + orderID).Lock(ctx)
		return err
	})
}

func main() { _ = pay(context.Background(), interlock.New(memory.New()), "42") }
`

var mistakes = []string{
	`main.go:11:17: key "pay" has no identifier`,
	"main.go:12:16: the result of Lock is discarded",
	"main.go:12:49: ctx is a context from outside of Do",
}

// Requirement T8: lint finds mistakes that compile, and so does go vet with interlock as its
// tool.
func TestLint(t *testing.T) {
	dir, env := module(t, careless)
	in(t, dir, env, "lint").expect(t, 1, mistakes...)
	in(t, dir, env, "lint", "-barekey", "./...").expect(t, 1, mistakes[0])
	in(t, dir, env, "lint", "-outerctx=false", "-losthold=false", "-barekey=false").expect(t, 0, "mistakes: none")
	in(t, dir, env, "lint", "./none").expect(t, 1, "directory not found")
	in(t, dir, env, "lint", "--help").expect(t, 0, "go vet -vettool=")

	cmd := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+interlock, "./...")
	cmd.Env = append(env, "PWD="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("go vet succeeded, want findings")
	}
	for _, m := range mistakes {
		if !strings.Contains(string(out), m) {
			t.Errorf("the output of go vet lacks %q:\n%s", m, out)
		}
	}
}

// The root of a workspace is often not a module.
func TestLintInTheRootOfAWorkspace(t *testing.T) {
	dir, env := module(t, locked)
	otherDir, _ := module(t, careless)
	root := t.TempDir()
	for from, name := range map[string]string{dir: "job", otherDir: "other"} {
		if err := os.Rename(from, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	mod := filepath.Join(root, "other", "go.mod")
	text, err := os.ReadFile(mod)
	if err == nil {
		err = os.WriteFile(mod, []byte(strings.Replace(string(text), "example.com/job", "example.com/other", 1)), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "go.work"), []byte("go 1.26.0\n\nuse (\n\t./job\n\t./other\n)\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "GOFLAGS=")
	in(t, root, env, "lint").expect(t, 1, "other/"+mistakes[0])
	in(t, root, env, "lint", "-outerctx=false", "-losthold=false", "-barekey=false").expect(t, 0, "directives: 1, mistakes: none")
}
