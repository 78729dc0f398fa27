package weave_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// Every function of some large packages gets a directive. The woven text parses, and no
// line or identifier moves.
func TestDirectivesEverywhere(t *testing.T) {
	count := 0
	for _, dir := range []string{"encoding/json", "go/types", "net/http", "reflect", "slices", "text/template"} {
		files, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", dir, "*.go")) //nolint:staticcheck // the source of the running toolchain
		if err != nil || len(files) == 0 {
			t.Skip("the source of the standard library is not installed")
		}
		for _, file := range files {
			count += weaveEveryFunction(t, dir, file)
		}
	}
	if count < 3000 {
		t.Errorf("%d functions were woven, want at least 3000", count)
	}
}

// weaveEveryFunction weaves a file with a directive on each function, and returns how many
// functions that are.
func weaveEveryFunction(t *testing.T, pkg, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, count := addDirectives(t, text)
	if count == 0 {
		return 0
	}
	src := weave.Source{Package: pkg, Path: file, Text: text, MarkerOptional: true}
	w, err := weave.File(src)
	if err != nil || w == nil || len(w.Sites) != count {
		t.Errorf("%s: got %v, want %d woven directives", file, err, count)
		return 0
	}
	was, is := strings.Split(string(text), "\n"), strings.Split(string(w.Text), "\n")
	for i, line := range was {
		if !within(line, is[i]) {
			t.Fatalf("%s:%d: woven as\n\t%s\nwhich does not contain the line\n\t%s", file, i+1, is[i], line)
		}
	}
	places := names(t, filepath.Dir(file)+"/elsewhere.go", w.Text)
	for n, k := range names(t, file, text) {
		if places[n] < k {
			t.Fatalf("%s: weaving moves the identifier %s", file, n)
		}
	}
	return count
}

// addDirectives puts a directive on each function that can have one.
func addDirectives(t *testing.T, text []byte) ([]byte, int) {
	t.Helper()
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	last, count := 0, 0
	for _, decl := range tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "init" || strings.Contains(fn.Doc.Text()+doc(fn), "//go:") {
			continue
		}
		at := fset.Position(fn.Pos()).Offset
		out = append(out, text[last:at]...)
		out = fmt.Appendf(out, "//interlock:lock name=f%d key=%d+len(\"\") kind=plain when=true on-timeout=skip\n", count, count)
		last, count = at, count+1
	}
	return append(out, text[last:]...), count
}

// doc returns the comment above a function, including pragmas such as //go:nosplit.
func doc(fn *ast.FuncDecl) string {
	var b strings.Builder
	if fn.Doc != nil {
		for _, c := range fn.Doc.List {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}
