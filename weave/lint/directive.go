package lint

import (
	"go/ast"
	"go/token"

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
	return nil, sites(pass, func(_ *ast.File, at token.Pos, s weave.Site) {
		if !s.Apart {
			return
		}
		remedy := "add a context parameter"
		if s.HasContext {
			remedy = "leave out ctx=, so that the lock uses the context parameter"
		}
		pass.Reportf(at, "%s does not get the context of its hold, so a function it calls cannot lock again: %s, or use kind=plain", s.Func, remedy)
	})
}

// sites visits the sites of a package, with their files and positions. Weaving reports
// mistakes in directives.
func sites(pass *analysis.Pass, visit func(tree *ast.File, at token.Pos, s weave.Site)) error {
	for _, tree := range pass.Files {
		file := pass.Fset.File(tree.FileStart)
		if file == nil || !hasDirectives(tree) {
			continue
		}
		text, err := pass.ReadFile(file.Name())
		if err != nil {
			return err
		}
		w, err := weave.File(weave.Source{Package: pass.Pkg.Path(), Path: file.Name(), Text: text})
		if err != nil || w == nil {
			continue
		}
		for _, s := range w.Sites {
			if s.Pos.Offset < file.Size() {
				visit(tree, file.Pos(s.Pos.Offset), s)
			}
		}
	}
	return nil
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
