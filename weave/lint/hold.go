package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Hold finds holds that are never unlocked and claims that are never settled, because they
// are discarded or kept in a variable that is only read. The watchdog renews such a lock
// as long as the program runs. Hold skips test files, which often do not unlock.
var Hold = &analysis.Analyzer{
	Name:     "losthold",
	Doc:      "report holds that are never unlocked, and claims that are never settled\n\nA lock that is never unlocked is renewed for as long as the program runs.",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      lostHolds,
}

// readOnly lists the methods that do not end a hold or a claim.
var readOnly = map[string]bool{
	"Key": true, "Parts": true, "Holder": true, "Fence": true, "Left": true, "Local": true,
	"Result": true, "Unguarded": true,
}

func lostHolds(pass *analysis.Pass) (any, error) {
	ended := endedVariables(pass)
	calls(pass, func(at inspector.Cursor, call *ast.CallExpr, fn *types.Func) {
		i, endCalls := mustEnd(fn)
		if endCalls == "" || strings.HasSuffix(pass.Fset.File(call.Pos()).Name(), "_test.go") {
			return
		}
		to, discarded := target(at, i)
		id, ok := to.(*ast.Ident)
		switch {
		case discarded, ok && id.Name == "_":
			pass.ReportRangef(call, "the result of %s is discarded: call %s", fn.Name(), endCalls)
		case ok:
			if v := variable(pass, id); v != nil && !ended[v] {
				pass.ReportRangef(call, "%s is never ended: call %s", id.Name, endCalls)
			}
		}
	})
	return nil, nil //nolint:nilnil // an analyzer without a result
}

// mustEnd returns the index of the result of fn that must be ended, and the calls that end
// it. calls is "" if fn has no such result.
func mustEnd(fn *types.Func) (i int, calls string) {
	switch fn.Name() {
	case "Lock", "TryLock", "Acquire", "TryAcquire", "Begin":
	default:
		return 0, ""
	}
	results := fn.Signature().Results()
	for i := range results.Len() {
		switch t := results.At(i).Type(); {
		case named(t, lockPath, "Hold"):
			return i, "Unlock on it"
		case named(t, guardPath, "Claim"):
			return i, "Complete, Fail, Free or Abandon on it"
		}
	}
	return 0, ""
}

// target returns the variable that gets result i of a call. It returns nil if the call is
// part of another expression, or if the result is discarded.
func target(at inspector.Cursor, i int) (to ast.Expr, discarded bool) {
	up := at.Parent()
	for _, ok := up.Node().(*ast.ParenExpr); ok; _, ok = up.Node().(*ast.ParenExpr) {
		up = up.Parent()
	}
	switch s := up.Node().(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return nil, true
	case *ast.AssignStmt:
		if i < len(s.Lhs) {
			return ast.Unparen(s.Lhs[i]), false
		}
	case *ast.ValueSpec:
		if i < len(s.Names) {
			return s.Names[i], false
		}
	}
	return nil, false
}

// variable returns the local variable of id. Package variables and named results are
// visible elsewhere.
func variable(pass *analysis.Pass, id *ast.Ident) *types.Var {
	v, ok := pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok || v.Kind() != types.LocalVar {
		return nil
	}
	return v
}

// endedVariables returns the variables with a use that can end them.
func endedVariables(pass *analysis.Pass) map[*types.Var]bool {
	ended := map[*types.Var]bool{}
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	for at := range root.Preorder((*ast.Ident)(nil)) {
		v, ok := pass.TypesInfo.Uses[at.Node().(*ast.Ident)].(*types.Var)
		if !ok || !named(v.Type(), lockPath, "Hold") && !named(v.Type(), guardPath, "Claim") {
			continue
		}
		if !idle(at) {
			ended[v] = true
		}
	}
	return ended
}

// idle reports whether a use of a hold cannot end it.
func idle(at inspector.Cursor) bool {
	switch up := at.Parent().Node().(type) {
	case *ast.SelectorExpr:
		return readOnly[up.Sel.Name]
	case *ast.BinaryExpr: // compared with nil or another hold
		return up.Op == token.EQL || up.Op == token.NEQ
	case *ast.AssignStmt:
		return assigned(at) || len(up.Lhs) == 1 && blank(up.Lhs[0])
	}
	return false
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}
