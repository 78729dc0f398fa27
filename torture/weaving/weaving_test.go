package weaving_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// bench is what all tests share: the command, built once, and where the woven
// files and the repository are.
var bench struct {
	dir, root string
	command   func() (string, error)
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weaving")
	if err == nil {
		bench.dir = dir
		bench.root, err = filepath.Abs("../..")
	}
	if err != nil {
		panic(err)
	}
	bench.command = sync.OnceValues(build)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the command; in the short form the one that stands for it. The go
// command takes another weaver for another compiler, so it is built such that it
// stays the same from run to run.
func build() (string, error) {
	from := weave.Module + "/cmd/interlock"
	if testing.Short() {
		from = "./interlock"
	}
	to := filepath.Join(bench.dir, "a tool", "interlock") // people have spaces in their paths
	out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", to, from).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", from, err, out)
	}
	return to, nil
}

func command(t *testing.T) string {
	t.Helper()
	path, err := bench.command()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The two ways to weave.
const (
	overlay  = "overlay"
	toolexec = "toolexec"
)

var forms = []string{overlay, toolexec}

// goArgs returns a go command, woven in one of the forms, as a user types it.
func goArgs(t *testing.T, form string, args ...string) []string {
	t.Helper()
	tool := command(t)
	if form == overlay {
		return append([]string{tool, "go"}, args...)
	}
	return append([]string{"go", args[0], "-toolexec='" + tool + "' weave"}, args[1:]...)
}

// A place is a directory in which go is run.
type place struct {
	dir string
	env []string
}

// environment is the machine's, less what would make a build another one.
func environment(t *testing.T) []string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(cache)),
		"XDG_CACHE_HOME="+filepath.Join(bench.dir, "cache"), "GOFLAGS=", "GOPROXY=off", "GOWORK=", "LANG=C", "LC_ALL=C")
}

// run runs a command and returns what it says and its status.
func (p place) run(ctx context.Context, t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a command that has to succeed.
func (p place) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := p.run(t.Context(), t, args...)
	if code != 0 {
		t.Fatalf("%q exits with %d:\n%s", args, code, out)
	}
	return out
}

// write puts files below the place.
func (p place) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sites is what is woven into a program, by what the command says of it.
func (p place) sites(t *testing.T, program string) string {
	t.Helper()
	return p.must(t, command(t), "verify", program)
}
