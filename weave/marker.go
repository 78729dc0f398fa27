package weave

import (
	"go/ast"
	"path/filepath"
	"strconv"
	"strings"
)

// marker replaces the import of the marker by the runtime, so that a fully woven program
// does not contain the marker.
func (w *weaver) marker() {
	for _, s := range w.tree.Imports {
		if !isMarker(s) {
			continue
		}
		if !isBlank(s.Name) {
			w.errorf(s.Pos(), "import _ %q: import it with the blank name _, because it has nothing to call", Marker)
			continue
		}
		w.marked = true
		if w.source.Via != Marker {
			w.replace(s.Path.Pos(), s.Path.End(), strconv.Quote(w.source.Via))
		}
	}
}

// requireMarker reports a file with directives that lacks the marker. The marker in another file
// of the package is not enough: files can be compiled by name, and an old overlay lacks
// new files.
func (w *weaver) requireMarker(sites []Site) {
	if w.marked || w.source.MarkerOptional || len(sites) == 0 || len(w.errs) > 0 {
		return
	}
	first := sites[0]
	w.errs = append(w.errs, &Error{first.Pos, "//" + prefix + first.Verb + ": add import _ " + strconv.Quote(Marker) +
		" to this file: without it, an unwoven program would silently run without its locks"})
}

func isMarker(s *ast.ImportSpec) bool {
	return s.Path.Value == strconv.Quote(Marker) || s.Path.Value == "`"+Marker+"`"
}

func isBlank(id *ast.Ident) bool { return id != nil && id.Name == "_" }

// inDependency reports whether a file is in the module cache or in a vendor
// directory, where the user cannot add the marker.
func inDependency(path string) bool {
	dir := filepath.ToSlash(filepath.Dir(path)) + "/"
	return strings.Contains(dir, "@v") || strings.Contains(dir, "/vendor/")
}
