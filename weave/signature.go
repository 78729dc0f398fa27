package weave

import (
	"bytes"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A signature is the part of a function's signature that the inserted statements use.
type signature struct {
	name    string // such as (*Service).Pay
	ctx     string // the context parameter, or ""
	err     string // the last result if it is an error, or ""
	params  []field
	results []field
}

// A field is a parameter or result.
type field struct {
	name string
	typ  ast.Expr
}

// signature gives names to unnamed results, so that a bare return and a pointer to the
// error work. It also gives names to unnamed parameters that the statements need.
func (w *weaver) signature(fn *ast.FuncDecl, dirs []*directive) signature {
	s := signature{name: funcName(fn)}
	needed := w.isContext
	for _, d := range dirs {
		if d.call != nil {
			needed = func(ast.Expr) bool { return true }
		}
	}
	for _, f := range fn.Type.Params.List {
		if needed(f.Type) {
			s.params = w.nameFields(fn.Type.Params, "_ilp", needed)
			break
		}
	}
	for _, p := range s.params {
		if w.isContext(p.typ) {
			s.ctx = p.name
			break
		}
	}
	s.results = w.nameFields(fn.Type.Results, "_ilr", func(ast.Expr) bool { return true })
	if n := len(s.results); n > 0 {
		if id, ok := s.results[n-1].typ.(*ast.Ident); ok && id.Name == "error" && !w.declaresError(fn) {
			s.err = s.results[n-1].name
		}
	}
	return s
}

// declaresError reports whether error is another type in this function: a type parameter, or
// a type of the package.
func (w *weaver) declaresError(fn *ast.FuncDecl) bool {
	return w.source.ErrorShadowed || declares(w.tree, "error") || typeOf(ast.NewIdent("error"), fn.Type.TypeParams) != nil
}

// declares reports whether a file declares a type.
func declares(tree *ast.File, name string) bool {
	for _, decl := range tree.Decls {
		types, ok := decl.(*ast.GenDecl)
		if !ok || types.Tok != token.TYPE {
			continue
		}
		for _, s := range types.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name {
				return true
			}
		}
	}
	return false
}

var errorShadowed = regexp.MustCompile(`(?m)^type error\b`)

// filesDeclareError reports whether one of the files declares a type named error. Files that
// cannot be read are left to the compiler.
func filesDeclareError(files []string, read func(string) ([]byte, error)) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := read(file)
		return err == nil && bytes.Contains(text, []byte("\ntype error")) && errorShadowed.Match(text)
	})
}

// goFilesOf returns the Go files of a directory.
func goFilesOf(dir string) []string {
	entries, _ := os.ReadDir(dir) // an unreadable directory is left to the compiler
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// outs returns pointers to the results without the error.
func (s signature) outs() string {
	var b strings.Builder
	for i, r := range s.results {
		if i < len(s.results)-1 || s.err == "" {
			b.WriteString(",&" + r.name)
		}
	}
	return b.String()
}

// errp returns a pointer to the error result, or nil.
func (s signature) errp() string {
	if s.err == "" {
		return "_il.NoErr()" // nil may be the name of a parameter
	}
	return "&" + s.err
}

// args returns the parameters as arguments for another function.
func (s signature) args() string {
	names := make([]string, len(s.params))
	for i, p := range s.params {
		names[i] = p.name
		if _, ok := p.typ.(*ast.Ellipsis); ok {
			names[i] += "..."
		}
	}
	return strings.Join(names, ",")
}

// nameFields names unnamed fields, and blank ones that are needed.
func (w *weaver) nameFields(list *ast.FieldList, stem string, needed func(ast.Expr) bool) []field {
	if list == nil {
		return nil
	}
	var all []field
	for _, f := range list.List {
		next := stem + strconv.Itoa(len(all))
		switch {
		case len(f.Names) > 0:
		case !list.Opening.IsValid(): // a single result without parentheses
			w.insert(f.Type.Pos(), "("+next+" ")
			w.insert(f.Type.End(), ")")
			all = append(all, field{next, f.Type})
		default:
			w.insert(f.Type.Pos(), next+" ")
			all = append(all, field{next, f.Type})
		}
		for _, id := range f.Names {
			name := id.Name
			if name == "_" && needed(f.Type) {
				name = stem + strconv.Itoa(len(all))
				w.replace(id.Pos(), id.End(), name)
			}
			all = append(all, field{name, f.Type})
		}
	}
	return all
}

// funcName returns the name of a function in stack traces, without its package.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	star := false
	for typ := fn.Recv.List[0].Type; ; {
		switch t := typ.(type) {
		case *ast.StarExpr:
			star, typ = true, t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.ParenExpr:
			typ = t.X
		case *ast.Ident:
			if star {
				return "(*" + t.Name + ")." + fn.Name.Name
			}
			return t.Name + "." + fn.Name.Name
		default:
			return "?." + fn.Name.Name
		}
	}
}
