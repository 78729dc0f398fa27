package weave

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// A pkg is what is known of the markers of a package: one in a file that is
// always compiled serves all its files, another only its own.
type pkg struct {
	marked  bool
	waiting []Site // the first one of each file without a marker
}

// note remembers whether a file has the marker, or relies on another.
func (s *walker) note(file string, text []byte, w *Woven) {
	key := filepath.Dir(file)
	if strings.HasSuffix(file, "_test.go") {
		key += "_test" // not there in a build
	}
	p := s.packages[key]
	if p == nil {
		p = &pkg{}
		s.packages[key] = p
	}
	switch {
	case w.Marked && always(file, text):
		p.marked = true
	case !w.Marked && len(w.Sites) > 0:
		p.waiting = append(p.waiting, w.Sites[0])
	}
}

// unmarked reports the files that would run without their locks if somebody
// built them without weaving.
func (s *walker) unmarked() {
	for _, p := range s.packages {
		if p.marked {
			continue
		}
		for _, site := range p.waiting {
			s.errs = append(s.errs, &Error{site.Pos, "//" + prefix + site.Verb + ": built without weaving, this package would run without its locks and nobody would notice: add import _ \"" + Marker + "\" to this file"})
		}
	}
}

// always reports whether a file is compiled on every system, with every tag and
// without cgo.
func always(file string, text []byte) bool {
	if bytes.Contains(text, []byte("//go:build")) || bytes.Contains(text, []byte("// +build ")) {
		return false
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil || slices.ContainsFunc(tree.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` }) {
		return false
	}
	nowhere := build.Context{GOOS: "nowhere", GOARCH: "nothing", Compiler: "gc", CgoEnabled: true}
	nowhere.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	ok, err := nowhere.MatchFile(filepath.Dir(file), filepath.Base(file))
	return ok && err == nil
}
