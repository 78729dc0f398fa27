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

// Toolexec wraps a tool of the go command, as in go build -toolexec='interlock weave'.
// Args are the tool and its arguments. It weaves files with directives as they are
// compiled; other tools run unchanged. It is for editors and build systems that cannot
// make an overlay first. The go command compiles the standard library once more, because
// the version of the compiler differs.
//
// Another -toolexec command may follow, as in -toolexec='interlock weave tracer'. Every
// tool then runs through it.
//
// If the tool fails, the error is its *[exec.ExitError]: exit with that code.
func Toolexec(args []string) error {
	if len(args) == 0 {
		return errors.New("weave: no tool given: use it as in go build -toolexec='interlock weave'")
	}
	through, tool := splitTool(args)
	if toolName(tool[0]) != "compile" {
		return run(args)
	}
	if asksVersion(tool) {
		return stamp(args)
	}
	if slices.Contains(tool, "-std") {
		return run(args)
	}
	c, err := newCompilation(tool)
	if err != nil {
		return err
	}
	return c.run(through)
}

// goTools are the tools that the go command runs through -toolexec.
var goTools = []string{"asm", "buildid", "cgo", "compile", "covdata", "cover", "fix", "link", "pack", "preprofile", "vet"}

// splitTool splits a command line into another -toolexec command and the Go tool, which
// has an absolute path. A tool of the user, such as a -vettool, is returned as the tool.
func splitTool(args []string) (through, tool []string) {
	for i, a := range args {
		if filepath.IsAbs(a) && slices.Contains(goTools, toolName(a)) {
			return args[:i:i], args[i:]
		}
	}
	return nil, args
}

// toolName returns the name of a tool without its path.
func toolName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

func asksVersion(args []string) bool { return len(args) == 2 && args[1] == "-V=full" }

// run runs the tool with our input and output.
func run(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// stamp prints the version of a tool with an addition. The go command caches results by
// version, and must not mix woven with unwoven results, or results of two weavers.
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

// stamped adds an id to a line such as "compile version go1.26.0". The go command compares
// the whole line of a release, but only the part after the last slash of other versions.
func stamped(line, id string) string {
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[2] != "devel" {
		return line + " interlock=" + id
	}
	return fmt.Sprintf("%s/%x", line, sha256.Sum256([]byte(line+id)))
}

// selfID identifies this build of the program.
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

// importPath returns the package that a tool compiles, without its test variant. The go
// command does not name the package of files that are given by name. Lock names contain
// the package and must be the same in every build, so the directory determines it.
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

// imports reports whether an importcfg contains a package.
func imports(file, path string) (bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("weave: %w", err)
	}
	return bytes.Contains(text, []byte("packagefile "+path+"=")), nil
}
