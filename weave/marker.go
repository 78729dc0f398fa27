package weave

import (
	"go/ast"
	"path/filepath"
	"strconv"
	"strings"
)

// marker makes the import of the marker one of the runtime, so that a program
// whose files are all woven does not have the marker in it.
func (w *weaver) marker() {
	for _, s := range w.tree.Imports {
		if !isMarker(s) {
			continue
		}
		if !isBlank(s.Name) {
			w.errorf(s.Pos(), "import _ %q: it has nothing that may be called", Marker)
			continue
		}
		w.marked = true
		if w.source.Via != Marker {
			w.replace(s.Path.Pos(), s.Path.End(), strconv.Quote(w.source.Via))
		}
	}
}

// demand reports that a file with directives lacks the marker. That of another file
// is of no use to it: go can be given files by name, and an old overlay does not
// know the new ones, so each may be compiled without the others.
func (w *weaver) demand(sites []Site) {
	if w.marked || w.source.Spared || len(sites) == 0 || len(w.errs) > 0 {
		return
	}
	first := sites[0]
	w.errs = append(w.errs, &Error{first.Pos, "//" + prefix + first.Verb + ": add import _ " + strconv.Quote(Marker) +
		" to this file: built without weaving, it would run without its locks and nobody would notice"})
}

func isMarker(s *ast.ImportSpec) bool {
	return s.Path.Value == strconv.Quote(Marker) || s.Path.Value == "`"+Marker+"`"
}

func isBlank(id *ast.Ident) bool { return id != nil && id.Name == "_" }

// theirs reports by its path whether a file is in the module cache or vendored, so
// that whoever builds it cannot add the marker.
func theirs(path string) bool {
	dir := filepath.ToSlash(filepath.Dir(path)) + "/"
	return strings.Contains(dir, "@v") || strings.Contains(dir, "/vendor/")
}
