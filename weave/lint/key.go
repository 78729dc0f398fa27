package lint

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Key finds constant keys that are probably mistakes: keys that are longer than 64
// characters or end in a colon, and keys without an identifier in a function that has one
// as a parameter. Any other constant key is fine, such as that of a nightly job.
var Key = &analysis.Analyzer{
	Name:     "barekey",
	Doc:      "report keys without an identifier\n\nA constant key in a function with an identifier parameter locks all objects at once.",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      bareKeys,
}

// maxTidyKey is the longest key that is not reported, in characters, as in package
// interlock.
const maxTidyKey = 64

func bareKeys(pass *analysis.Pass) (any, error) {
	calls(pass, func(at inspector.Cursor, call *ast.CallExpr, fn *types.Func) {
		for _, k := range keysOf(call, fn) {
			text, ok := constantKey(pass, k)
			if !ok {
				continue
			}
			switch {
			case utf8.RuneCountInString(text) > maxTidyKey:
				pass.ReportRangef(k, "key is longer than %d characters; it costs memory and traffic with every call", maxTidyKey)
			case fn.Pkg().Path() == lockPath && strings.HasSuffix(text, ":"):
				pass.ReportRangef(k, "key %q ends in a colon; is an identifier missing?", text)
			case oneOfMany(fn, text):
				if id := identifier(pass, at); id != "" {
					pass.ReportRangef(k, "key %q has no identifier: it is the same for every %s; add it", text, id)
				}
			}
		}
	})
	return nil, nil //nolint:nilnil // an analyzer without a result
}

// keysOf returns the arguments that are keys.
func keysOf(call *ast.CallExpr, fn *types.Func) []ast.Expr {
	switch name := fn.Name(); {
	case len(call.Args) == 0:
	case fn.Pkg().Path() == guardPath:
		if name == "ID" || name == "Of" {
			return call.Args[len(call.Args)-1:]
		}
	case fn.Signature().Recv() == nil:
	case name == "Multi":
		if list, ok := ast.Unparen(call.Args[0]).(*ast.CompositeLit); ok {
			return list.Elts
		}
	case name == "Mutex", name == "RWMutex", name == "Semaphore", name == "Latch", name == "Striped":
		return call.Args[:1]
	}
	return nil
}

// constantKey returns the constant value of a key, if it has one.
func constantKey(pass *analysis.Pass, k ast.Expr) (string, bool) {
	if call, ok := ast.Unparen(k).(*ast.CallExpr); ok {
		fn := callee(pass, call)
		if fn == nil || fn.Name() != "Key" || fn.Signature().Recv() != nil || len(call.Args) != 1 {
			return "", false
		}
		k = call.Args[0]
	}
	v := pass.TypesInfo.Types[k].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// oneOfMany reports whether the key probably names one of many objects. Semaphores, latches
// and stripes often cover all of them.
func oneOfMany(fn *types.Func, text string) bool {
	switch fn.Name() {
	case "ID", "Of":
		return true
	case "Mutex", "RWMutex", "Multi":
		return !strings.Contains(text, ":")
	}
	return false
}

// identifier returns a parameter of the enclosing functions whose name, or a field's name,
// looks like an identifier.
func identifier(pass *analysis.Pass, at inspector.Cursor) string {
	for f := range at.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		var params *ast.FieldList
		switch f := f.Node().(type) {
		case *ast.FuncDecl:
			params = f.Type.Params
		case *ast.FuncLit:
			params = f.Type.Params
		}
		for _, p := range params.List {
			for _, name := range p.Names {
				if id := identifies(name.Name, pass.TypesInfo.TypeOf(p.Type)); id != "" {
					return id
				}
			}
		}
	}
	return ""
}

func identifies(name string, t types.Type) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&(types.IsString|types.IsInteger) != 0 && likeID(name) {
			return name
		}
	case *types.Struct:
		for f := range u.Fields() {
			b, ok := f.Type().Underlying().(*types.Basic)
			if ok && b.Info()&(types.IsString|types.IsInteger) != 0 && f.Exported() && likeID(f.Name()) {
				return name + "." + f.Name()
			}
		}
	}
	return ""
}

// likeID reports whether a name looks like an identifier.
func likeID(name string) bool {
	switch name {
	case "id", "uuid", "sku", "SKU", "UUID":
		return true
	}
	for _, end := range []string{"ID", "Id", "No", "UUID"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
