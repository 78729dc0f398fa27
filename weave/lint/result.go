package lint

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/interlock-go/interlock/weave"
)

// Result finds functions with directives whose results outlive the call, such as an
// *http.Response. The context of the body ends when the function returns, and with it the
// result.
var Result = &analysis.Analyzer{
	Name: "outlives",
	Doc:  "report directives whose function returns a result that needs its context\n\nThe context of the body ends when the function returns. Reading the result then fails.",
	Run:  outlives,
}

func outlives(pass *analysis.Pass) (any, error) {
	reported := map[*ast.FuncDecl]bool{} // several directives have one result
	return nil, sites(pass, func(tree *ast.File, at token.Pos, s weave.Site) {
		decl := functionOf(tree, at)
		if decl == nil || !s.Bound || reported[decl] {
			return
		}
		fn, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func)
		if !ok {
			return
		}
		for result := range fn.Signature().Results().Variables() {
			if needsContext(result.Type()) {
				reported[decl] = true
				pass.Reportf(at, "%s returns %s, but the context of its body ends on return: use the result in the function, or make it with context.WithoutCancel",
					s.Func, types.TypeString(result.Type(), types.RelativeTo(pass.Pkg)))
				return
			}
		}
	})
}

// functionOf returns the function whose comment contains a position.
func functionOf(tree *ast.File, at token.Pos) *ast.FuncDecl {
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil && fn.Doc.Pos() <= at && at < fn.Doc.End() {
			return fn
		}
	}
	return nil
}

// needsContext reports whether a result of this type usually needs the context it was made
// with.
func needsContext(t types.Type) bool {
	if isContext(t) || named(t, "net/http", "Response") {
		return true
	}
	for _, name := range []string{"Rows", "Row", "Tx"} {
		if named(t, "database/sql", name) {
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Chan:
		return u.Dir() != types.SendOnly
	case *types.Signature:
		return isIterator(u)
	case *types.Interface:
		read, _, _ := types.LookupFieldOrMethod(t, false, nil, "Read")
		fn, ok := read.(*types.Func)
		return ok && fn.Signature().Params().Len() == 1
	}
	return false
}

// isIterator reports whether a function has the form of iter.Seq or iter.Seq2.
func isIterator(f *types.Signature) bool {
	if f.Params().Len() != 1 || f.Results().Len() != 0 {
		return false
	}
	yield, ok := f.Params().At(0).Type().Underlying().(*types.Signature)
	return ok && yield.Results().Len() == 1 && types.Identical(yield.Results().At(0).Type(), types.Typ[types.Bool])
}
