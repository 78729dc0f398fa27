package weave

import (
	"go/ast"
	"strconv"
	"strings"
)

// A hand is how a directive comes by its context, and how the body comes by the
// one that holds the lock: in a variable, or by a statement that puts it somewhere.
// If it has neither, the body keeps the context that it has.
type hand struct {
	from  string
	to    string
	store func(ctx string) string
}

// reaches reports whether the body gets the context that holds the lock.
func (h hand) reaches() bool { return h.to != "" || h.store != nil }

// hand says how it is for one directive.
func (w *weaver) hand(d *directive, sig signature) hand {
	switch {
	case d.shared != "":
		return hand{from: d.shared, to: d.shared}
	case d.ctx == nil && sig.ctx != "":
		return hand{from: sig.ctx, to: sig.ctx}
	case d.ctx == nil:
		return hand{from: "_il.Bg()"}
	}
	h := w.back(d)
	h.from = w.placed(d, d.ctx)
	return h
}

// back finds where the context of ctx=EXPR is from, to put the other one there:
// into a parameter, a field of one, or the request that it is the context of. What
// others see as well stays as it is: they do not hold the lock.
func (w *weaver) back(d *directive) hand {
	switch x := ast.Unparen(d.ctx.node).(type) {
	case *ast.Ident:
		switch typ := typeOf(x, d.fn.Type.Params); {
		case typ == nil:
			return hand{}
		case w.isContext(typ):
			return hand{to: x.Name}
		}
		return kept(x.Name)
	case *ast.SelectorExpr:
		if byValue(typeOf(x.X, d.fn.Type.Params, d.fn.Recv)) {
			return kept(x.X.(*ast.Ident).Name + "." + x.Sel.Name)
		}
	case *ast.CallExpr:
		if r := w.request(x, d.fn); r != "" {
			return hand{store: func(ctx string) string { return r + "=" + r + ".WithContext(" + ctx + ");" }}
		}
	}
	return hand{to: w.mentioned(d)}
}

// kept puts a context where one of its type fits, which only the compiler knows.
func kept(at string) hand {
	return hand{store: func(ctx string) string { return "_il.Back(" + ctx + ",&" + at + ");" }}
}

// request is the parameter of type *http.Request whose context is asked for.
func (w *weaver) request(call *ast.CallExpr, fn *ast.FuncDecl) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Context" || len(call.Args) > 0 {
		return ""
	}
	if p, ok := typeOf(method.X, fn.Type.Params).(*ast.StarExpr); ok && w.isNamed(p.X, "net/http", "Request") {
		return method.X.(*ast.Ident).Name
	}
	return ""
}

// mentioned is the one context among the parameters of which EXPR makes another,
// as in ctx=interlock.NewContext(ctx, s.client), or "".
func (w *weaver) mentioned(d *directive) string {
	found := map[string]bool{}
	ast.Inspect(d.ctx.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // has names of its own
			return false
		case *ast.SelectorExpr:
			_, plain := n.X.(*ast.Ident) // ctx.Value(k) is something else than ctx
			return !plain
		case *ast.Ident:
			if typ := typeOf(n, d.fn.Type.Params); typ != nil && w.isContext(typ) {
				found[n.Name] = true
			}
		}
		return true
	})
	if len(found) != 1 {
		return ""
	}
	for name := range found {
		return name
	}
	return ""
}

// typeOf is how the type of a parameter is written, or nil if it is none.
func typeOf(e ast.Expr, lists ...*ast.FieldList) ast.Expr {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, f := range list.List {
			for _, name := range f.Names {
				if name.Name == id.Name {
					return f.Type
				}
			}
		}
	}
	return nil
}

// byValue reports whether a parameter is the function's own, as far as can be seen.
func byValue(typ ast.Expr) bool {
	switch typ.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr, *ast.StructType:
		return true
	}
	return false
}

// contexts makes a variable of a context that the body does not get, and that
// several directives of a function begin with: the lower one has to know of the
// upper one, or it would wait for it.
func (w *weaver) contexts(dirs []*directive, sig signature) string {
	var b strings.Builder
	for i, d := range dirs {
		if d.shared != "" || w.hand(d, sig).reaches() {
			continue
		}
		for _, lower := range dirs[i+1:] {
			if same(d.ctx, lower.ctx) {
				d.shared = "_ilc" + strconv.Itoa(i)
				lower.shared = d.shared
			}
		}
		if d.shared != "" {
			from := "_il.Bg()"
			if d.ctx != nil {
				from = w.placed(d, d.ctx)
			}
			b.WriteString(w.line(d.pos) + d.shared + ":=" + from + ";")
		}
	}
	return b.String()
}

// same reports whether two expressions are written the same, or both left out.
func same(a, b *expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.text == b.text
}

// isContext reports whether a type is context.Context, as this file calls it.
func (w *weaver) isContext(typ ast.Expr) bool { return w.isNamed(typ, "context", "Context") }

// isNamed reports whether a type is that of another package, as this file calls it.
func (w *weaver) isNamed(typ ast.Expr, path, name string) bool {
	for _, s := range w.tree.Imports {
		if imported, err := strconv.Unquote(s.Path.Value); err != nil || imported != path {
			continue
		}
		pkg := path[strings.LastIndexByte(path, '/')+1:]
		if s.Name != nil {
			pkg = s.Name.Name
		}
		switch t := typ.(type) {
		case *ast.Ident:
			if pkg == "." && t.Name == name {
				return true
			}
		case *ast.SelectorExpr:
			if x, ok := t.X.(*ast.Ident); ok && x.Name == pkg && t.Sel.Name == name {
				return true
			}
		}
	}
	return false
}
