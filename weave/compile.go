package weave

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// guardFile is the file of the marker whose init function stops an unwoven program.
const guardFile = "guard.go"

// A compilation is one call of the compiler.
type compilation struct {
	args  []string
	pkg   string
	dir   string // for woven files
	woven string // the source name of the first woven file, or ""
	errs  Errors

	errorShadowed bool // the package declares a type named error

	unread string // a file with directives that cannot be parsed, or ""
}

// newCompilation weaves the files of a compiler call.
func newCompilation(args []string) (*compilation, error) {
	c := &compilation{args: slices.Clone(args)}
	c.pkg = cmp.Or(importPath(c.source(c.args[len(c.args)-1])), c.flag("-p"))
	c.dir = filepath.Join(filepath.Dir(c.flag("-o")), "interlock")
	if c.pkg == Runtime {
		return c, nil
	}
	first := c.firstFile()
	c.errorShadowed = filesDeclareError(c.args[first:], os.ReadFile)
	for i := first; i < len(c.args); i++ {
		if err := c.file(i); err != nil {
			return nil, err
		}
	}
	if err := c.errs.err(); err != nil {
		return nil, err
	}
	return c, c.marked()
}

// valued are compiler flags whose value is the next argument.
var valued = []string{"-o", "-p", "-D", "-I", "-asmhdr", "-buildid", "-embedcfg", "-goversion", "-importcfg", "-lang", "-symabis", "-trimpath"}

// firstFile returns the index of the first file after the flags. Names do not identify
// files: there are packages such as nats.go, and a file in an overlay may have any name.
func (c *compilation) firstFile() int {
	i := len(c.args)
	for i > 1 && !strings.HasPrefix(c.args[i-1], "-") {
		i--
	}
	if i < len(c.args) && slices.Contains(valued, c.args[i-1]) {
		i++
	}
	return i
}

// source returns the source name of a file, which may come from an overlay.
func (c *compilation) source(file string) string {
	for r := range strings.SplitSeq(c.flag("-trimpath"), ";") {
		if from, to, ok := strings.Cut(r, "=>"); ok && from == file && to != "" {
			return to
		}
	}
	return file
}

// flag returns the value of a compiler flag.
func (c *compilation) flag(name string) string {
	if i := slices.Index(c.args, name); i >= 0 && i+1 < len(c.args) {
		return c.args[i+1]
	}
	return ""
}

// file replaces args[i] by a woven file, if there is something to weave.
func (c *compilation) file(i int) error {
	path, err := filepath.Abs(c.args[i])
	if err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	name := c.source(c.args[i])
	text, err := c.weave(name, path)
	if err != nil || text == nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	to := filepath.Join(c.dir, filepath.Base(name))
	if err := os.WriteFile(to, text, 0o644); err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	c.args[i] = to
	if t := slices.Index(c.args, "-trimpath"); t >= 0 && t+1 < len(c.args) {
		c.args[t+1] = to + "=>" + rewrite(path, c.args[t+1]) + ";" + c.args[t+1]
	}
	return nil
}

// rewrite applies the rewrites of -trimpath to a path, as the compiler does: the first that
// fits. Without this, a package that went through the cover tool would contain the path of
// the go command's work directory.
func rewrite(path, rewrites string) string {
	for r := range strings.SplitSeq(rewrites, ";") {
		from, to, _ := strings.Cut(r, "=>")
		rest, ok := strings.CutPrefix(path, from)
		switch {
		case !ok || from == "":
		case rest == "":
			return to
		case rest[0] == filepath.Separator && to == "":
			return rest[1:]
		case rest[0] == filepath.Separator:
			return to + rest
		}
	}
	return path
}

// weave returns the text to compile instead of a file, or nil.
func (c *compilation) weave(name, path string) ([]byte, error) {
	if c.pkg == Marker { // woven code imports it, so it must let the program start
		if filepath.Base(path) == guardFile {
			return []byte("package on\n"), nil
		}
		return nil, nil
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("weave: %w", err)
	}
	if bytes.Contains(src, []byte(imported)) {
		return nil, nil // already woven, by an overlay or after cover
	}
	w, err := File(Source{Package: c.pkg, Path: path, Name: name, Text: src, Via: Marker, MarkerOptional: mayLackMarker(path, src), ErrorShadowed: c.errorShadowed})
	if l := (Errors)(nil); errors.As(err, &l) {
		c.errs = append(c.errs, l...)
		return nil, nil
	}
	if err != nil || w == nil {
		return nil, err
	}
	if w.Unread {
		c.unread = name
		return nil, nil
	}
	if len(w.Sites) > 0 {
		c.woven = cmp.Or(c.woven, name)
	}
	return w.Text, nil
}

// mayLackMarker reports whether a file may lack the marker. Output of cgo and cover names its
// sources in line directives.
func mayLackMarker(path string, text []byte) bool {
	return inDependency(path) || slices.ContainsFunc(lineNote.FindAllSubmatch(text, -1), func(m [][]byte) bool { return inDependency(string(m[1])) })
}

var lineNote = regexp.MustCompile(`(?m)^//line (.+?):\d+`)

// marked checks that the compiler finds the package that woven code imports. The go
// command passes only imports of the source to the compiler, so some file of the package
// must import the marker. In a dependency, possibly no file does.
func (c *compilation) marked() error {
	if c.woven == "" {
		return nil
	}
	ok, err := imports(c.flag("-importcfg"), Marker)
	if err != nil || ok {
		return err
	}
	return fmt.Errorf("%s:1:1: package %s has directives but does not import _ %q: vendor it (go mod vendor), and build with interlock go", c.woven, c.pkg, Marker)
}

// run compiles, through another -toolexec command if there is one. It fails if the
// compiler accepts a file that the weaver could not parse.
func (c *compilation) run(through []string) error {
	if err := run(slices.Concat(through, c.args)); err != nil || c.unread == "" {
		return err
	}
	return fmt.Errorf("%s:1:1: has directives, and syntax that is newer than this command (%s): build the command with the Go version of the project", c.unread, runtime.Version())
}
