package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const locked = `package main

import (
	"context"
	"fmt"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=job key=id kind=plain wait=0
func job(ctx context.Context, id string, then func() error) error { return then() }

func main() {
	ctx := context.Background()
	nothing := func() error { return nil }
	err := job(ctx, "a", func() error { return job(ctx, "a", nothing) })
	fmt.Println("refused:", err != nil)
}
`

// module creates a module that uses this repository, and returns the environment to
// build it.
func module(t *testing.T, main string) (dir string, env []string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	const lib = "github.com/interlock-go/interlock"
	for name, text := range map[string]string{
		"main.go": main,
		"go.mod":  "module example.com/job\n\ngo 1.26.0\n\nrequire " + lib + " v0.0.0\n\nreplace " + lib + " => " + root + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "XDG_CACHE_HOME=" + t.TempDir(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOCACHE=" + strings.TrimSpace(string(cache))}
	return dir, env
}

// in runs the binary in a directory.
func in(t *testing.T, dir string, env []string, args ...string) *run {
	t.Helper()
	t.Chdir(dir)
	return start(t, append(env, "PWD="+dir), args...)
}

// Requirements P8, T5: the commands for directives.
func TestDirectives(t *testing.T) {
	dir, env := module(t, locked)
	in(t, dir, env, "lint").expect(t, 0, "directives: 1, mistakes: none")
	in(t, dir, env, "go", "run", ".").expect(t, 0, "refused: true")
	in(t, dir, env, "go", "build", "-o", "job", ".").expect(t, 0)
	in(t, dir, env, "verify", "job").expect(t, 0, "lock example.com/job.job\n")
	in(t, dir, env, "verify", "go.mod").expect(t, 6, "no directives are woven into go.mod", "interlock go build")
	in(t, dir, env, "overlay").expect(t, 0, "overlay.json\n")
	in(t, dir, env, "show", "main.go").expect(t, 0, "_ilcall.Lock(ctx,&")
	in(t, dir, env, "go", "build", "./none").expect(t, 1, "directory not found")
	in(t, dir, env, "go", "version").expect(t, 0, "go version go1.")
	in(t, dir, env, "go").expect(t, 2, "interlock go test ./...")
	in(t, dir, env, "go", "--help").expect(t, 0, "interlock go COMMAND [ARGUMENTS]")
	in(t, dir, env, "show").expect(t, 2, "the file is missing")
	in(t, dir, env, "eject", "main.go").expect(t, 0)
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "refused: true\n" {
		t.Errorf("the ejected program: got %v and this output, want \"refused: true\"\n%s", err, out)
	}
}

func TestMistakesInDirectives(t *testing.T) {
	dir, env := module(t, strings.Replace(locked, "wait=0", "wiat=0", 1))
	const mistake = "main.go:10:45: //interlock:lock: unknown option \"wiat\" (did you mean wait?)\n"
	for args, want := range map[string]string{
		"lint": mistake, "overlay": mistake, "show main.go": mistake, "eject main.go": mistake,
		"go build .": "# example.com/job\n" + mistake, // the go command names the package
	} {
		r := in(t, dir, env, strings.Fields(args)...)
		r.expect(t, 1)
		if r.stderr.String() != want {
			t.Errorf("interlock %s prints\n%s\nwant\n%s", args, &r.stderr, want)
		}
	}
}

// The go command calls weave and cover-shim for -toolexec. Package weave tests whole
// builds, which take minutes.
func TestToolexec(t *testing.T) {
	dir, env := module(t, locked)
	tools, err := exec.Command("go", "env", "GOTOOLDIR").Output()
	if err != nil {
		t.Fatal(err)
	}
	compile := filepath.Join(strings.TrimSpace(string(tools)), "compile")
	in(t, dir, env, "weave", compile, "-V=full").expect(t, 0, "compile version go", " interlock=")
	in(t, dir, env, "cover-shim", compile, "-V=full").expect(t, 0, "compile version go")
	in(t, dir, env, "weave").expect(t, 1, "no tool")
}
