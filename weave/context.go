package weave

import (
	"go/ast"
	"strconv"
	"strings"
)

// A contextBinding says where a directive gets its context, and how the body gets the
// context of the hold: in the variable to, or by the statement that store returns. If both
// are unset, the body keeps its own context.
type contextBinding struct {
	from  string // an expression
	to    string
	store func(ctx string) string
}

// reachesBody reports whether the body gets the context of the hold.
func (h contextBinding) reachesBody() bool { return h.to != "" || h.store != nil }

// bindContext returns the binding of one directive.
func (w *weaver) bindContext(d *directive, sig signature) contextBinding {
	switch {
	case d.shared != "":
		return contextBinding{from: d.shared, to: d.shared}
	case d.ctx == nil && sig.ctx != "":
		return contextBinding{from: sig.ctx, to: sig.ctx}
	case d.ctx == nil:
		return contextBinding{from: "_il.Bg()"}
	}
	h := w.back(d)
	h.from = w.withPosition(d, d.ctx)
	return h
}

// back returns a binding that stores the context of the hold where the context of ctx=EXPR
// comes from: in a parameter, a field of one, or a request. It does not change variables
// that other code can see, because that code does not hold the lock.
func (w *weaver) back(d *directive) contextBinding {
	switch x := ast.Unparen(d.ctx.node).(type) {
	case *ast.Ident:
		switch typ := typeOf(x, d.fn.Type.Params); {
		case typ == nil:
			return contextBinding{}
		case w.isContext(typ):
			return contextBinding{to: x.Name}
		}
		return storeIfContext(x.Name)
	case *ast.SelectorExpr:
		if byValue(typeOf(x.X, d.fn.Type.Params, d.fn.Recv)) {
			return storeIfContext(x.X.(*ast.Ident).Name + "." + x.Sel.Name)
		}
	case *ast.CallExpr:
		if r := w.request(x, d.fn); r != "" {
			return contextBinding{store: func(ctx string) string { return r + "=" + r + ".WithContext(" + ctx + ");" }}
		}
	}
	return contextBinding{to: w.derivedFrom(d)}
}

// storeIfContext stores the context of the hold in a variable, if the variable has type
// context.Context. Woven code checks that, because the weaver does not know types.
func storeIfContext(at string) contextBinding {
	return contextBinding{store: func(ctx string) string { return "_il.Back(" + ctx + ",&" + at + ");" }}
}

// request returns the *http.Request parameter whose context is used.
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

// derivedFrom returns the only context parameter that EXPR uses, as in
// ctx=interlock.NewContext(ctx, s.client), or "".
func (w *weaver) derivedFrom(d *directive) string {
	found := map[string]bool{}
	ast.Inspect(d.ctx.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // has its own names
			return false
		case *ast.SelectorExpr:
			_, plain := n.X.(*ast.Ident) // ctx.Value(k) is not ctx
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

// typeOf returns the type of a parameter, or nil.
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

// byValue reports whether a parameter seems to be passed by value. Only its syntax is known.
func byValue(typ ast.Expr) bool {
	switch typ.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr, *ast.StructType:
		return true
	}
	return false
}

// contexts declares a variable for a context that several directives share but the body
// does not get. Without it a lower directive would wait for the lock of an upper one.
func (w *weaver) contexts(dirs []*directive, sig signature) string {
	var b strings.Builder
	for i, d := range dirs {
		if d.shared != "" || w.bindContext(d, sig).reachesBody() {
			continue
		}
		for _, lower := range dirs[i+1:] {
			if equalExprs(d.ctx, lower.ctx) {
				d.shared = "_ilc" + strconv.Itoa(i)
				lower.shared = d.shared
			}
		}
		if d.shared != "" {
			from := "_il.Bg()"
			if d.ctx != nil {
				from = w.withPosition(d, d.ctx)
			}
			b.WriteString(w.line(d.pos) + d.shared + ":=" + from + ";")
		}
	}
	return b.String()
}

// equalExprs reports whether two expressions are equal, or both absent.
func equalExprs(a, b *expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.text == b.text
}

// isContext reports whether a type is context.Context in this file.
func (w *weaver) isContext(typ ast.Expr) bool { return w.isNamed(typ, "context", "Context") }

// isNamed reports whether a type is path.name in this file.
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
