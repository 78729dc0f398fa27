package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/interlock-go/interlock/weave"
)

// Directive finds reentrant locks of directives whose context cannot reach the body: with
// ctx=EXPR the context of the hold cannot be stored, so a nested lock waits for itself.
// Weaving reports mistakes in directives.
var Directive = &analysis.Analyzer{
	Name: "apart",
	Doc:  "report directives whose function does not get the context that holds the lock\n\nWhat it calls cannot enter the lock again, and does not notice when it is lost.",
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
				pass.Reportf(file.Pos(at), "%s does not get the context that holds its lock, so nothing it calls can enter again: take the context as a parameter, or say kind=plain", s.Func)
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
