package weave_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// A compiler is a program that notes its arguments and is content.
type compiler struct{ dir string }

func newCompiler(t *testing.T, files map[string]string) compiler {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it is a shell script")
	}
	c := compiler{t.TempDir()}
	files["importcfg"] = "packagefile " + weave.Marker + "=on.a\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + c.dir + "/args'\n"
	if err := os.WriteFile(filepath.Join(c.dir, "compile"), []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	return c
}

// weave calls it through the weaver, for a package, and returns what it was given.
func (c compiler) weave(t *testing.T, pkg string, files ...string) ([]string, error) {
	t.Helper()
	args := []string{filepath.Join(c.dir, "compile"), "-o", filepath.Join(c.dir, "_pkg_.a")}
	args = append(args, "-trimpath", c.dir+"/1.txt=>/src/one.go;"+c.dir+"=>"+pkg, "-p", pkg)
	args = append(args, "-pack", "-importcfg", filepath.Join(c.dir, "importcfg"))
	for _, file := range files {
		args = append(args, filepath.Join(c.dir, file))
	}
	err := weave.Toolexec(args)
	text, readErr := os.ReadFile(filepath.Join(c.dir, "args"))
	if readErr != nil && err == nil {
		t.Fatal(readErr)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), err
}

func TestAPackageMayBeCalledLikeAFile(t *testing.T) {
	const pkg = "example.com/nats.go"
	c := newCompiler(t, map[string]string{"a.go": bank})
	t.Setenv("TOOLEXEC_IMPORTPATH", pkg)
	args, err := c.weave(t, pkg, "a.go")
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(args, "-p"); args[i+1] != pkg {
		t.Errorf("the package became %s", args[i+1])
	}
	if got, want := args[len(args)-1], filepath.Join(c.dir, "interlock", "a.go"); got != want {
		t.Errorf("%s is compiled, want %s", got, want)
	}
}

// In an overlay a file may be called as anybody likes, and yet has its locks.
func TestAFileOfAnOverlayIsWovenByTheCompiler(t *testing.T) {
	c := newCompiler(t, map[string]string{"a.go": "package bank\n", "1.txt": bank})
	t.Setenv("TOOLEXEC_IMPORTPATH", "example.com/bank")
	args, err := c.weave(t, "example.com/bank", "1.txt", "a.go")
	if err != nil {
		t.Fatal(err)
	}
	file := args[len(args)-2]
	if want := filepath.Join(c.dir, "interlock", "one.go"); file != want {
		t.Fatalf("%s is compiled, want %s", file, want)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "_ilS_one_go_0") || !strings.Contains(string(text), `Pos:"one.go:9"`) {
		t.Errorf("got %v\n%s", err, text)
	}
}

// A lock is called by its function: it must not be another when go is given files.
func TestFilesBelongToThePackageOfTheirDirectory(t *testing.T) {
	c := newCompiler(t, map[string]string{"a.go": bank, "go.mod": "module example.com/bank\n"})
	t.Setenv("TOOLEXEC_IMPORTPATH", "command-line-arguments")
	args, err := c.weave(t, "main", "a.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(args[len(args)-1])
	if err != nil || !strings.Contains(string(text), "ilsite/1{lock example.com/bank.Move}") {
		t.Errorf("got %v\n%s", err, text)
	}
}

// Only a newer compiler understands what the weaver cannot parse: then nothing must
// come of it.
func TestWhatOnlyTheCompilerUnderstandsIsNotBuilt(t *testing.T) {
	c := newCompiler(t, map[string]string{"a.go": strings.Replace(bank, "func Move(", "func later Move(", 1)})
	t.Setenv("TOOLEXEC_IMPORTPATH", "example.com/bank")
	if _, err := c.weave(t, "example.com/bank", "a.go"); err == nil || !strings.Contains(err.Error(), "a.go:1:1: has directives, and is newer") {
		t.Errorf("got %v", err)
	}
}
