package weave

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Source is a file to weave.
type Source struct {
	Package        string // the import path of its package
	Path           string // positions in the woven text use it
	Name           string // the name in errors; default: Path
	Text           []byte
	Via            string // the package that woven code imports; default: [Runtime]
	MarkerOptional bool   // the file may lack the marker, because it is part of a dependency

	ErrorShadowed bool // another file of the package declares a type named error
}

// A Woven is a woven file.
type Woven struct {
	Text   []byte
	Sites  []Site
	Unread bool // the file may have directives but cannot be parsed
}

// A Site is a woven directive.
type Site struct {
	Pos  token.Position
	Verb string
	Func string // the function and its package, such as example.com/shop.(*Service).Pay
	Name string // the name of the lock or guard

	// Apart means that the lock is reentrant, but the body does not get its context.
	Apart bool

	// Bound means that the body gets the context of the directive, which ends when the
	// function returns.
	Bound bool

	// HasContext means that the function has a context parameter.
	HasContext bool
}

// String returns position, verb and function.
func (s Site) String() string { return fmt.Sprintf("%s: %s %s", s.Pos, s.Verb, s.Func) }

// File weaves one file. It returns nil if there is nothing to weave. Mistakes in directives
// are [Errors].
//
// A file with directives that cannot be parsed is not an error, because the compiler reports
// the mistake. A compiler of a newer Go may accept the file, but the program must not run
// without its locks. So the returned text is Unread and imports the marker.
func File(src Source) (*Woven, error) {
	w := read(src)
	if w == nil {
		return unread(src), nil
	}
	sites := w.functions()
	w.marker()
	w.requireMarker(sites)
	if err := w.errs.err(); err != nil {
		return nil, err
	}
	if len(sites) == 0 && len(w.edits) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	w.head(len(sites) > 0)
	return &Woven{Text: w.text(), Sites: sites}, nil
}

// unread returns a file that could not be parsed, with an import of the marker if it has
// a package clause.
func unread(src Source) *Woven {
	if !bytes.Contains(src.Text, []byte("//"+prefix)) {
		return nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, src.Path, src.Text, parser.PackageClauseOnly)
	if err != nil {
		return nil
	}
	w := splicer{fset: fset, file: fset.File(tree.FileStart), src: src.Text}
	end := tree.Name.End()
	at := w.file.Offset(end)
	w.edits = []edit{{at, at, fmt.Sprintf(";import _ %q", Marker) + w.lineWithFile(end)}}
	return &Woven{Text: w.text(), Unread: true}
}

// A weaver weaves one file.
type weaver struct {
	splicer
	source Source
	tree   *ast.File
	errs   Errors
	count  int  // the number of sites
	marked bool // the file imports the marker
}

// read parses a file that may have directives.
func read(src Source) *weaver {
	src.Name = cmp.Or(src.Name, src.Path)
	src.Via = cmp.Or(src.Via, Runtime)
	if !candidate(src.Text) {
		return nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, src.Path, src.Text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	w := &weaver{source: src, tree: tree}
	w.splicer = splicer{fset: fset, file: fset.File(tree.FileStart), src: src.Text}
	w.mapped = w.isMapped()
	if strings.Contains(src.Path, "*/") || strings.ContainsAny(src.Path, "\r\n") {
		w.errorf(tree.Package, "the path of this file cannot be named in a comment: rename the directory")
	}
	return w
}

// isMapped reports whether line directives of the source may change the file name after the
// package clause, or set no column. Output of cover does neither: it names the source once,
// at the top.
func (w *weaver) isMapped() bool {
	if w.fset.Position(w.tree.Name.End()).Column == 0 {
		return true
	}
	return slices.ContainsFunc(w.tree.Comments, func(group *ast.CommentGroup) bool {
		return slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
			return c.Pos() > w.tree.Name.End() && strings.HasPrefix(c.Text[2:], "line ")
		})
	})
}

// functions weaves the functions with directives.
func (w *weaver) functions() []Site {
	var order []*ast.FuncDecl
	of := map[*ast.FuncDecl][]*directive{}
	for _, d := range w.directives() {
		if of[d.fn] == nil {
			order = append(order, d.fn)
		}
		of[d.fn] = append(of[d.fn], d)
	}
	if len(order) > 0 {
		w.checkNames()
	}
	var sites []Site
	for _, fn := range order {
		sites = append(sites, w.function(fn, of[fn])...)
	}
	return sites
}

// checkNames refuses identifiers that woven code uses.
func (w *weaver) checkNames() {
	if !bytes.Contains(w.src, []byte("_il")) {
		return
	}
	ast.Inspect(w.tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "_il") {
			w.errorf(id.Pos(), "%s: names that begin with _il are reserved for woven code: rename it", id.Name)
		}
		return true
	})
}

// head imports the runtime and sets the file name for the compiler, vet, cover and
// debuggers. Later line directives inherit it.
func (w *weaver) head(imports bool) {
	text := ""
	if imports {
		text = fmt.Sprintf(imported+"%q", w.source.Via)
	}
	end := w.tree.Name.End()
	at := w.file.Offset(end)
	w.edits = append(w.edits, edit{at, at, text + w.lineWithFile(end)})
	if blank := blankLine.FindSubmatch(w.src[at:]); blank != nil && !w.mapped {
		// A compiled package contains the column behind the last line directive. Behind the
		// line directive above, the column depends on the length of the path.
		w.insert(end+token.Pos(len(blank[1])), "")
	}
}

// blankLine matches a blank line after the package clause. A comment must not follow: it
// may be C.
var blankLine = regexp.MustCompile(`^(\r?\n)\r?\n[^/]`)

// imported is the start of the import that marks a woven file.
const imported = ";import _il "

// errorf reports a mistake at a position.
func (w *weaver) errorf(pos token.Pos, format string, args ...any) {
	w.errs = append(w.errs, &Error{w.position(pos), fmt.Sprintf(format, args...)})
}

// position returns pos for messages.
func (w *weaver) position(pos token.Pos) token.Position {
	p := w.fset.Position(pos)
	if p.Filename == w.source.Path {
		p.Filename = w.source.Name
	}
	return p
}

// base returns the file name without its directory.
func (w *weaver) base() string { return filepath.Base(w.source.Name) }
