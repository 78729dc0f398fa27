package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// A Package is what the check needs to know of one: paths as the go command
// prints them.
type Package struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// Check returns a line for each import that is against the arrows.
func Check(pkgs []Package) []string {
	var wrong []string
	for _, p := range pkgs {
		from, ok := ours(p.ImportPath)
		if !ok {
			continue
		}
		a, ok := arrowOf(from)
		if !ok {
			wrong = append(wrong, from+": has no line in internal/tools/archtest")
			continue
		}
		if slices.Contains(p.Imports, "testing") && !slices.Contains(testers, from) {
			wrong = append(wrong, from+": imports testing outside of a test")
		}
		wrong = append(wrong, stray(from, "imports", p.Imports, a.code)...)
		allowed := slices.Concat(a.code, a.tests, []string{from})
		wrong = append(wrong, stray(from, "imports in a test", slices.Concat(p.TestImports, p.XTestImports), allowed)...)
	}
	return wrong
}

// arrowOf returns the most exact line for a package.
func arrowOf(pkg string) (best arrow, ok bool) {
	for _, a := range arrows {
		if covers(a.from, pkg) && (!ok || len(a.from) > len(best.from)) {
			best, ok = a, true
		}
	}
	return best, ok
}

// stray returns a line for each of our packages in imports that no pattern covers.
func stray(from, how string, imports, patterns []string) []string {
	var wrong []string
	slices.Sort(imports)
	for _, p := range slices.Compact(imports) {
		to, ok := ours(p)
		if ok && !slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, to) }) {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s", from, how, to))
		}
	}
	return wrong
}

// ours makes an import path relative to the root, if the package is ours.
func ours(importPath string) (string, bool) {
	if importPath == repo.Path {
		return ".", true
	}
	rest, ok := strings.CutPrefix(importPath, repo.Path+"/")
	return path.Clean(rest), ok
}
