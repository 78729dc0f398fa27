package weave_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file. With -update it writes the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// shapes returns the sources in testdata/shapes by name.
func shapes(t testing.TB) map[string]weave.Source {
	t.Helper()
	files, err := filepath.Glob("testdata/shapes/*.src")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/shapes has no sources: %v", err)
	}
	all := map[string]weave.Source{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".src")
		all[name] = weave.Source{Package: "example.com/shop", Path: "/src/shop/" + name + ".go", Text: text}
	}
	return all
}

func woven(t *testing.T, src weave.Source) []byte {
	t.Helper()
	w, err := weave.File(src)
	if err != nil {
		t.Fatal(err)
	}
	if w == nil {
		t.Fatal("nothing was woven")
	}
	return w.Text
}

// Requirements P8, T5: a directive is one line above a function of any shape.
func TestEveryShapeIsWovenAsWritten(t *testing.T) {
	for name, src := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			golden(t, "testdata/shapes/"+name+".woven", woven(t, src))
		})
	}
}

func TestNoLineMoves(t *testing.T) {
	for name, src := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			was, is := strings.Split(string(src.Text), "\n"), strings.Split(string(woven(t, src)), "\n")
			for i, line := range was {
				if !within(line, is[i]) {
					t.Errorf("line %d: woven as\n\t%s\nwhich does not contain\n\t%s", i+1, is[i], line)
				}
			}
		})
	}
}

// within reports whether a line still contains all bytes that it had, in the same order.
func within(was, is string) bool {
	for i := range len(is) {
		if was != "" && is[i] == was[0] {
			was = was[1:]
		}
	}
	return was == ""
}

// names counts the identifiers of a file by name and position, as the compiler reports
// them. It omits the package name, which is before the first line directive.
func names(t *testing.T, path string, text []byte) map[string]int {
	t.Helper()
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%s does not parse: %v\n%s", path, err, text)
	}
	all := map[string]int{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name != "_" && id != tree.Name {
			all[fmt.Sprintf("%s at %s", id.Name, fset.Position(id.Pos()))]++
		}
		return true
	})
	return all
}

func TestNoIdentifierMoves(t *testing.T) {
	for name, src := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			is := names(t, filepath.Dir(src.Path)+"/elsewhere.go", woven(t, src))
			for n, count := range names(t, src.Path, src.Text) {
				if is[n] < count {
					t.Errorf("weaving moves the identifier %s", n)
				}
			}
		})
	}
}

func TestCarriageReturnsChangeNothing(t *testing.T) {
	for name, src := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			want := woven(t, src)
			src.Text = bytes.ReplaceAll(src.Text, []byte("\n"), []byte("\r\n"))
			got := bytes.ReplaceAll(woven(t, src), []byte("\r\n"), []byte("\n"))
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestNothingToWeave(t *testing.T) {
	for _, text := range []string{
		"package shop\n",
		"package shop\n\n// See interlock: it locks.\nfunc f() {}\n",
		"package shop\n\nconst s = \"//interlock:lock\"\n",
		"package shop // interlock:lock\n\nfunc f( {\n", // the compiler reports this mistake
		"//interlock:lock\n",
	} {
		w, err := weave.File(weave.Source{Package: "shop", Path: "/a.go", Text: []byte(text)})
		if w != nil || err != nil {
			t.Errorf("%q: got %v, %v; want nil and no error", text, w, err)
		}
	}
}

// A newer compiler may accept a file that the weaver cannot parse. The program must not run
// without its locks.
func TestAFileThatCannotBeParsedImportsTheMarker(t *testing.T) {
	const text = "package shop // it is\n\n//interlock:lock key=id\nfunc f( {\n"
	w, err := weave.File(weave.Source{Package: "shop", Path: "/a.go", Text: []byte(text)})
	want := "package shop;import _ \"" + weave.Marker + "\"/*line /a.go:1:13*/ // it is\n\n//interlock:lock key=id\nfunc f( {\n"
	if err != nil || w == nil || !w.Unread || string(w.Text) != want {
		t.Errorf("got %+v, %v; want\n%s", w, err, want)
	}
}

// siteName matches the declaration of a site.
var siteName = regexp.MustCompile(`var (_ilS_\w+) =`)

func TestFilesOfAPackageHaveDistinctSiteNames(t *testing.T) {
	const text = "package shop\n\n//interlock:lock kind=plain on-timeout=skip\nfunc f() {}\n"
	of := map[string]string{}
	for _, name := range []string{"a_b.go", "a.b.go", "a-b.go", "a__b.go", "a_.b.go", "a._b.go", "ab.go", "a.x2d.b.go", "a_x2d_b.go", "a.go.go", "a_go.go", "ä.go"} {
		found := siteName.FindSubmatch(woven(t, weave.Source{Package: "shop", Path: "/src/" + name, Text: []byte(text), MarkerOptional: true}))
		if found == nil {
			t.Fatalf("%s: the woven text has no site", name)
		}
		if other, taken := of[string(found[1])]; taken {
			t.Errorf("%s and %s both declare %s", name, other, found[1])
		}
		of[string(found[1])] = name
	}
}

// FuzzFile checks that the woven text of any source parses, and that no line moves.
func FuzzFile(f *testing.F) {
	for _, src := range shapes(f) {
		f.Add(src.Text)
	}
	for _, c := range mistakes(f) {
		f.Add([]byte(c.source))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/src/a.go", Text: text, MarkerOptional: true})
		if err != nil || w == nil || w.Unread {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "a.go", w.Text, parser.ParseComments); err != nil {
			t.Fatalf("the woven text does not parse: %v\n%s\nwoven from\n%s", err, w.Text, text)
		}
		is := strings.Split(string(w.Text), "\n")
		for i, line := range strings.Split(string(text), "\n") {
			if i >= len(is) || !within(line, is[i]) {
				t.Fatalf("line %d, %q, has moved in\n%s", i+1, line, w.Text)
			}
		}
	})
}
