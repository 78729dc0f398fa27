package weave

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Show returns a file as the compiler sees it: woven, or unchanged if it has no directives.
func Show(file string) ([]byte, error) {
	src, err := load(file)
	if err != nil {
		return nil, err
	}
	w, err := File(src)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return src.Text, nil
	}
	return w.Text, nil
}

// Eject returns a file with its directives replaced by formatted code. The file can be
// built without weaving. It no longer imports the marker, which would stop the program.
func Eject(file string) ([]byte, error) {
	src, err := load(file)
	if err != nil {
		return nil, err
	}
	w := read(src)
	if w == nil {
		return src.Text, nil
	}
	w.plain = true
	sites := w.functions()
	if err := w.errs.err(); err != nil {
		return nil, err
	}
	switch {
	case len(sites) == 0:
		if w.marker(); !w.marked {
			return src.Text, nil
		}
	case w.replaceMarkerImport():
		w.commentOut()
	default:
		w.commentOut()
		w.head(true)
	}
	text, err := format.Source(w.text())
	if err != nil {
		return nil, fmt.Errorf("weave: eject %s: %w", file, err)
	}
	return text, nil
}

// commentOut turns the directives into ordinary comments.
func (w *weaver) commentOut() {
	for _, group := range w.tree.Comments {
		for _, c := range group.List {
			if w.isDirective(c) {
				w.replace(c.Pos(), c.End(), "// Ejected directive: "+c.Text[len("//"+prefix):])
			}
		}
	}
}

// replaceMarkerImport replaces the import of the marker by an import of the runtime. It reports
// whether the file imports the marker.
func (w *weaver) replaceMarkerImport() bool {
	for _, s := range w.tree.Imports {
		if isMarker(s) && isBlank(s.Name) {
			w.replace(s.Pos(), s.End(), "_il "+strconv.Quote(Runtime))
			return true
		}
	}
	return false
}

// load reads a file and finds its package.
func load(file string) (Source, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return Source{}, fmt.Errorf("weave: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Source{}, fmt.Errorf("weave: %w", err)
	}
	dir := filepath.Dir(path)
	own := filesDeclareError(goFilesOf(dir), os.ReadFile)
	return Source{Package: packageOf(dir), Path: path, Name: file, Text: text, MarkerOptional: inDependency(path), ErrorShadowed: own}, nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^"\s]+)`)

// packageOf returns the import path of a directory, by the go.mod above it.
func packageOf(dir string) string {
	for top := dir; ; top = filepath.Dir(top) {
		if text, err := os.ReadFile(filepath.Join(top, "go.mod")); err == nil {
			if m := moduleLine.FindSubmatch(text); m != nil {
				rel, _ := filepath.Rel(top, dir) // dir is below top
				return filepath.ToSlash(filepath.Join(string(m[1]), rel))
			}
		}
		if top == filepath.Dir(top) {
			return filepath.Base(dir)
		}
	}
}
