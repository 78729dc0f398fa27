package lint

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

const (
	lockPath  = "github.com/interlock-go/interlock"
	guardPath = lockPath + "/guard"
)

// callee returns the called function or method of Interlock, or nil.
func callee(pass *analysis.Pass, call *ast.CallExpr) *types.Func {
	f := ast.Unparen(call.Fun)
	switch x := f.(type) { // with explicit type arguments
	case *ast.IndexExpr:
		f = x.X
	case *ast.IndexListExpr:
		f = x.X
	}
	var name *ast.Ident
	switch x := f.(type) {
	case *ast.Ident:
		name = x
	case *ast.SelectorExpr:
		name = x.Sel
	default:
		return nil
	}
	fn, ok := pass.TypesInfo.Uses[name].(*types.Func)
	if !ok || fn.Pkg() == nil {
		return nil
	}
	if path := fn.Pkg().Path(); path != lockPath && path != guardPath {
		return nil
	}
	return fn.Origin()
}

// calls visits all calls of Interlock in a package.
func calls(pass *analysis.Pass, visit func(at inspector.Cursor, call *ast.CallExpr, fn *types.Func)) {
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	for at := range root.Preorder((*ast.CallExpr)(nil)) {
		call := at.Node().(*ast.CallExpr)
		if fn := callee(pass, call); fn != nil {
			visit(at, call, fn)
		}
	}
}

// named reports whether t, or its pointer target, is path.name.
func named(t types.Type, path, name string) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

func isContext(t types.Type) bool { return named(t, "context", "Context") }
