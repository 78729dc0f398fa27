package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/interlock-go/interlock/weave"
)

// Directive finds reentrant locks of directives with a ctx=EXPR that cannot be assigned to.
// The function's body does not get the context of the hold, so a nested call waits for the
// lock of its caller. Directive does not report mistakes in directives; weaving does.
var Directive = &analysis.Analyzer{
	Name: "apart",
	Doc:  "report directives whose function does not get the context of the hold\n\nFunctions that it calls cannot lock again, and do not notice when the lock is lost.",
	Run:  apart,
}

func apart(pass *analysis.Pass) (any, error) {
	for _, tree := range pass.Files {
		file := pass.Fset.File(tree.FileStart)
		if file == nil || !hasDirectives(tree) {
			continue
		}
		text, err := pass.ReadFile(file.Name())
		if err != nil {
			return nil, err
		}
		w, err := weave.File(weave.Source{Package: pass.Pkg.Path(), Path: file.Name(), Text: text})
		if err != nil || w == nil {
			continue // weaving reports it
		}
		for _, s := range w.Sites {
			if at := s.Pos.Offset; s.Apart && at < file.Size() {
				remedy := "add a context parameter"
				if s.HasContext {
					remedy = "leave out ctx=, so that the lock uses the context parameter"
				}
				pass.Reportf(file.Pos(at), "%s does not get the context of its hold, so a function it calls cannot lock again: %s, or use kind=plain", s.Func, remedy)
			}
		}
	}
	return nil, nil //nolint:nilnil // an analyzer without a result
}

// hasDirectives reports whether a file has directives.
func hasDirectives(tree *ast.File) bool {
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if len(c.Text) > len(prefix) && c.Text[:len(prefix)] == prefix {
				return true
			}
		}
	}
	return false
}

const prefix = "//interlock:"
