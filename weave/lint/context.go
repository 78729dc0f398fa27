package lint

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Context finds work under Do, Call and Wrap that uses an outer context. Only the context
// that the work gets is cancelled when the lock is lost, and only that context carries the
// hold.
var Context = &analysis.Analyzer{
	Name:     "outerctx",
	Doc:      "report work under a lock or a guard that uses a context from outside\n\nOnly the context that the work gets is cancelled when the lock is lost.",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      outerContexts,
}

func outerContexts(pass *analysis.Pass) (any, error) {
	seen := map[token.Pos]bool{} // nested work is visited twice
	calls(pass, func(at inspector.Cursor, call *ast.CallExpr, fn *types.Func) {
		work := workOf(call, fn)
		if work == nil {
			return
		}
		body, _ := at.FindNode(work.Body)
		for use := range body.Preorder((*ast.Ident)(nil)) {
			id := use.Node().(*ast.Ident)
			if !seen[id.Pos()] && outer(pass, id, work) && !assigned(use) {
				seen[id.Pos()] = true
				pass.ReportRangef(id, "%s is a context from outside of %s; it is not cancelled when the lock is lost: use the parameter of the function%s",
					id.Name, fn.Name(), parameter(work))
			}
		}
	})
	return nil, nil //nolint:nilnil // an analyzer without a result
}

// workOf returns the function literal that runs under the lock, if any. Fallbacks run
// without the lock and do not count.
func workOf(call *ast.CallExpr, fn *types.Func) *ast.FuncLit {
	switch fn.Name() {
	case "Do", "Call", "Wrap":
	default:
		return nil
	}
	sig := fn.Signature()
	for i := range min(sig.Params().Len(), len(call.Args)) {
		takes, ok := sig.Params().At(i).Type().Underlying().(*types.Signature)
		if !ok || takes.Params().Len() == 0 || !isContext(takes.Params().At(0).Type()) {
			continue
		}
		work, _ := ast.Unparen(call.Args[i]).(*ast.FuncLit)
		return work
	}
	return nil
}

// outer reports whether id is a local variable declared outside the work. Package variables
// do not count.
func outer(pass *analysis.Pass, id *ast.Ident, work *ast.FuncLit) bool {
	v, ok := pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || v.IsField() || !isContext(v.Type()) || v.Pkg() == nil || v.Parent() == v.Pkg().Scope() {
		return false
	}
	return v.Pos() < work.Pos() || v.Pos() >= work.End()
}

// assigned reports whether a use of a variable only writes it.
func assigned(use inspector.Cursor) bool {
	s, ok := use.Parent().Node().(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, l := range s.Lhs {
		if l == use.Node() {
			return true
		}
	}
	return false
}

func parameter(work *ast.FuncLit) string {
	names := work.Type.Params.List[0].Names
	if len(names) == 0 || names[0].Name == "_" {
		return ""
	}
	return ", " + names[0].Name
}
