package weave

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Toolexec stands between the go command and one of its tools, as in
// go build -toolexec='interlock weave'. Args are the tool and its arguments. Files
// with directives are woven as they are compiled; every other tool just runs. It
// is the form for editors and build systems that cannot make an overlay first:
// the standard library is compiled once more, because the compiler is another.
//
// If the tool fails, the error is its *[exec.ExitError]: exit with that code.
func Toolexec(args []string) error {
	if len(args) == 0 {
		return errors.New("weave: no tool: use it as in go build -toolexec='interlock weave'")
	}
	if toolName(args[0]) != "compile" {
		return run(args)
	}
	if asksVersion(args) {
		return stamp(args)
	}
	if slices.Contains(args, "-std") {
		return run(args)
	}
	c, err := newCompilation(args)
	if err != nil {
		return err
	}
	return c.run()
}

// toolName is how a tool is called, wherever it is.
func toolName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

func asksVersion(args []string) bool { return len(args) == 2 && args[1] == "-V=full" }

// run is the tool itself, with our input and output.
func run(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// stamp makes the version of a tool another one. The go command keeps what it
// compiled under it: woven and unwoven results must not be mistaken for each
// other, nor those of two weavers.
func stamp(args []string) error {
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		return err
	}
	id, err := selfID()
	if err != nil {
		return err
	}
	_, err = fmt.Println(stamped(strings.TrimSpace(string(out)), id))
	return err
}

// stamped puts an id into a line such as "compile version go1.26.0". For a
// release all of it counts, otherwise only what is behind the last slash.
func stamped(line, id string) string {
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[2] != "devel" {
		return line + " interlock=" + id
	}
	return fmt.Sprintf("%s/%x", line, sha256.Sum256([]byte(line+id)))
}

// selfID tells this program from any other.
func selfID() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("weave: %w", err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		return "", fmt.Errorf("weave: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16], nil
}

// importPath is the package that a tool works on, without the test that it is
// built for. If go was given files, it does not say of which package they are; locks
// are called by it, and have to be the same in every build.
func importPath(file string) string {
	path, _, _ := strings.Cut(os.Getenv("TOOLEXEC_IMPORTPATH"), " ")
	if path != "command-line-arguments" {
		return path
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return path
	}
	return packageOf(dir)
}

// imports reports whether an importcfg has a package.
func imports(file, path string) (bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("weave: %w", err)
	}
	return bytes.Contains(text, []byte("packagefile "+path+"=")), nil
}
