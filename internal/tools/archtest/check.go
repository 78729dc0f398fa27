package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// A Package is a package and its imports, as the go command lists them.
type Package struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// Check returns a line for each import that the package's [Room] does not allow.
func Check(pkgs []Package) []string {
	var wrong []string
	for _, p := range pkgs {
		from, ok := Ours(p.ImportPath)
		if !ok {
			continue
		}
		room, ok := Of(from)
		if !ok {
			wrong = append(wrong, from+": is not listed in internal/tools/archtest")
			continue
		}
		if slices.Contains(p.Imports, "testing") && !slices.Contains(testers, from) {
			wrong = append(wrong, from+": imports testing outside of a test")
		}
		wrong = append(wrong, stray(from, "imports", p.Imports, room.Code)...)
		allowed := slices.Concat(room.Code, room.Tests, []string{from})
		wrong = append(wrong, stray(from, "imports in a test", slices.Concat(p.TestImports, p.XTestImports), allowed)...)
	}
	return wrong
}

// stray returns a line for each import of one of our packages that no pattern allows.
func stray(from, relation string, imports, patterns []string) []string {
	var wrong []string
	slices.Sort(imports)
	for _, p := range slices.Compact(imports) {
		to, ok := Ours(p)
		if ok && !slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, to) }) {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s", from, relation, to))
		}
	}
	return wrong
}

// Ours returns an import path relative to the root, and whether the package belongs to this
// repository.
func Ours(importPath string) (string, bool) {
	if importPath == repo.Path {
		return ".", true
	}
	rest, ok := strings.CutPrefix(importPath, repo.Path+"/")
	return path.Clean(rest), ok
}
