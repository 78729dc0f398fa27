package weave

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// An expr is a Go expression in a directive.
type expr struct {
	text string
	pos  token.Pos
	node ast.Expr // its positions are not those of the file
}

// keys parses the expressions of a key.
func (w *weaver) keys(d *directive, o option) []expr {
	list := w.exprs(d, o)
	constant := len(list) > 0
	for _, e := range list {
		if _, ok := e.node.(*ast.BasicLit); !ok {
			constant = false
		}
	}
	if constant {
		w.mistake(d, o.at, "key=%s is the same for every call: use a parameter, such as key=id, or leave out the key and set name=", o.value)
	}
	return list
}

// single parses an option with one expression.
func (w *weaver) single(d *directive, o option) *expr {
	list := w.exprs(d, o)
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		w.mistake(d, list[1].pos, "%s=%s: want one Go expression, not %d", o.name, o.value, len(list))
		return nil
	}
	return &list[0]
}

// exprs parses a list of Go expressions like call arguments.
func (w *weaver) exprs(d *directive, o option) []expr {
	const before = "f("
	if at, ok := comment(o.value); ok {
		w.mistake(d, o.at+token.Pos(at), "%s=%s: an expression cannot contain a comment; write // and the comment after the last option", o.name, o.value)
		return nil
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseExprFrom(fset, "", before+o.value+")", 0)
	if err != nil {
		at, msg := 0, err.Error()
		if l := (scanner.ErrorList)(nil); errors.As(err, &l) && len(l) > 0 {
			at, msg = l[0].Pos.Offset-len(before), l[0].Msg
		}
		if strings.ContainsRune(o.value, '#') {
			msg += "; write the name of a parameter without #"
		}
		if strings.Contains(msg, "rune literal") {
			msg += "; write strings in double quotes"
		}
		w.mistake(d, o.at+token.Pos(min(max(at, 0), len(o.value))), "%s=%s is not a Go expression: %s", o.name, o.value, msg)
		return nil
	}
	call, ok := tree.(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() || len(call.Args) == 0 {
		w.mistake(d, o.at, "%s=%s is not a list of Go expressions: separate them by commas", o.name, o.value)
		return nil
	}
	list := make([]expr, len(call.Args))
	for i, a := range call.Args {
		from, to := fset.Position(a.Pos()).Offset-len(before), fset.Position(a.End()).Offset-len(before)
		list[i] = expr{o.value[from:to], o.at + token.Pos(from), a}
		w.checkIdents(d, o, fset, o.at-token.Pos(len(before)), a)
	}
	return list
}

// checkIdents refuses identifiers that have no value when the expression is evaluated.
func (w *weaver) checkIdents(d *directive, o option, fset *token.FileSet, start token.Pos, e ast.Expr) {
	results := resultNames(d.fn)
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr: // the right side is a field
			w.checkIdents(d, o, fset, start, n.X)
			return false
		case *ast.KeyValueExpr: // the left side may be a field
			w.checkIdents(d, o, fset, start, n.Value)
			return false
		case *ast.FuncLit: // has its own names, which the compiler checks
			return false
		case *ast.Ident:
			at := start + token.Pos(fset.Position(n.Pos()).Offset)
			switch {
			case n.Name == "_":
				w.mistake(d, at, "%s uses _, which has no value: give the parameter a name", o.name)
			case results[n.Name]:
				w.mistake(d, at, "%s uses the result %q, which has no value yet when the function begins: use a parameter", o.name, n.Name)
			}
		}
		return true
	})
}

func resultNames(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	if fn.Type.Results != nil {
		for _, f := range fn.Type.Results.List {
			for _, n := range f.Names {
				if n.Name != "_" {
					names[n.Name] = true
				}
			}
		}
	}
	return names
}

// comment finds a comment in an expression: it would swallow the inserted text after it.
func comment(s string) (at int, found bool) {
	fset := token.NewFileSet()
	var scan scanner.Scanner
	file := fset.AddFile("", fset.Base(), len(s))
	scan.Init(file, []byte(s), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, _ := scan.Scan()
		switch tok {
		case token.EOF:
			return 0, false
		case token.COMMENT:
			return file.Offset(pos), true
		}
	}
}
