package i18n_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTexts parses the source, because package variables cannot be enumerated.
func TestTexts(t *testing.T) {
	texts := 0
	files, err := filepath.Glob("texts*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool { return inspect(t, n, &texts) })
	}
	if texts < 50 {
		t.Errorf("found only %d texts; the test does not find them all", texts)
	}
}

// inspect checks a text, and reports whether to descend further.
func inspect(t *testing.T, n ast.Node, texts *int) (further bool) {
	spec, ok := n.(*ast.ValueSpec)
	if !ok {
		return true
	}
	if _, many := spec.Values[0].(*ast.CompositeLit).Type.(*ast.MapType); many {
		return false // maps have texts without arguments
	}
	*texts++
	name, forms := spec.Names[0].Name, spec.Values[0].(*ast.CompositeLit).Elts
	if len(forms) != 2 {
		t.Errorf("%s has %d forms, want English and Chinese", name, len(forms))
		return false
	}
	en, zh := literal(t, forms[0]), literal(t, forms[1])
	if en == "" || zh == "" {
		t.Errorf("%s is empty in one language", name)
	}
	if a, b := verbs(en), verbs(zh); !slices.Equal(a, b) {
		t.Errorf("%s takes %q in English and %q in Chinese", name, a, b)
	}
	return false
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	if sum, ok := e.(*ast.BinaryExpr); ok { // concatenated strings
		return literal(t, sum.X) + literal(t, sum.Y)
	}
	s, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?([a-z])`)

// verbs returns the formatting verb of each argument, in the order of the arguments.
func verbs(form string) []string {
	all := make(map[int]string)
	next := 1
	for _, m := range verb.FindAllStringSubmatch(form, -1) {
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		all[next] = m[2]
		next++
	}
	list := make([]string, 0, len(all))
	for i := range len(all) {
		list = append(list, all[i+1])
	}
	return list
}
