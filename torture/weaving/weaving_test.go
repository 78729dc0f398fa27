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

// shared is used by all tests: the command, built once, and the directories of the woven
// files and the repository.
var shared struct {
	dir, root string
	command   func() (string, error)
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "weaving")
	if err == nil {
		shared.dir = dir
		shared.root, err = filepath.Abs("../..")
	}
	if err != nil {
		panic(err)
	}
	shared.command = sync.OnceValues(build)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the command, or its small replacement in the short form. The build is
// reproducible, because the go command treats a changed weaver as a changed compiler.
func build() (string, error) {
	from := weave.Module + "/cmd/interlock"
	if testing.Short() {
		from = "./interlock"
	}
	to := filepath.Join(shared.dir, "a tool", "interlock") // a path with a space
	out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", to, from).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", from, err, out)
	}
	return to, nil
}

func command(t *testing.T) string {
	t.Helper()
	path, err := shared.command()
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

// goArgs returns the command line of a go command, woven in one of the two ways.
func goArgs(t *testing.T, form string, args ...string) []string {
	t.Helper()
	tool := command(t)
	if form == overlay {
		return append([]string{tool, "go"}, args...)
	}
	return append([]string{"go", args[0], "-toolexec='" + tool + "' weave"}, args[1:]...)
}

// A workDir is a directory in which the go command runs, and its environment.
type workDir struct {
	dir string
	env []string
}

// environment returns the machine's environment without settings that change builds.
func environment(t *testing.T) []string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(cache)),
		"XDG_CACHE_HOME="+filepath.Join(shared.dir, "cache"), "GOFLAGS=", "GOPROXY=off", "GOWORK=", "LANG=C", "LC_ALL=C")
}

// run runs a command and returns its output and exit status.
func (p workDir) run(ctx context.Context, t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a command, which must succeed, and returns its output.
func (p workDir) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := p.run(t.Context(), t, args...)
	if code != 0 {
		t.Fatalf("%q exited with %d:\n%s", args, code, out)
	}
	return out
}

// write writes files below the directory.
func (p workDir) write(t *testing.T, files map[string]string) {
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

// sites returns the woven sites of a program, as the verify command prints them.
func (p workDir) sites(t *testing.T, program string) string {
	t.Helper()
	return p.must(t, command(t), "verify", program)
}
