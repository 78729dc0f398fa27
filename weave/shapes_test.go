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

var update = flag.Bool("update", false, "write what comes out to testdata")

// golden compares with a file, or writes it.
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

// shapes are the sources in testdata, by name.
func shapes(t testing.TB) map[string]weave.Source {
	t.Helper()
	files, err := filepath.Glob("testdata/shapes/*.src")
	if err != nil || len(files) == 0 {
		t.Fatalf("no shapes: %v", err)
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

// P8, T5: one line above a function, whatever the function looks like.
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
					t.Errorf("line %d was\n\t%s\nand is\n\t%s", i+1, line, is[i])
				}
			}
		})
	}
}

// within reports whether a line still has all of what it had, in its order.
func within(was, is string) bool {
	for i := range len(is) {
		if was != "" && is[i] == was[0] {
			was = was[1:]
		}
	}
	return was == ""
}

// names are the identifiers of a file with the place that the compiler gives
// them. That of the package is in front of the first line directive.
func names(t *testing.T, path string, text []byte) map[string]int {
	t.Helper()
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
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

func TestEveryNameStaysWhereItWas(t *testing.T) {
	for name, src := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			is := names(t, filepath.Dir(src.Path)+"/elsewhere.go", woven(t, src))
			for n, count := range names(t, src.Path, src.Text) {
				if is[n] < count {
					t.Errorf("%s is elsewhere when woven", n)
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
		"package shop // interlock:lock\n\nfunc f( {\n", // for the compiler
		"//interlock:lock\n",
	} {
		w, err := weave.File(weave.Source{Package: "shop", Path: "/a.go", Text: []byte(text)})
		if w != nil || err != nil {
			t.Errorf("%q: got %v, %v", text, w, err)
		}
	}
}

// Syntax that only a newer compiler knows must not run without its locks.
func TestAFileThatCannotBeReadImportsTheMarker(t *testing.T) {
	const text = "package shop // it is\n\n//interlock:lock key=id\nfunc f( {\n"
	w, err := weave.File(weave.Source{Package: "shop", Path: "/a.go", Text: []byte(text)})
	want := "package shop;import _ \"" + weave.Marker + "\"/*line /a.go:1:13*/ // it is\n\n//interlock:lock key=id\nfunc f( {\n"
	if err != nil || w == nil || !w.Unread || string(w.Text) != want {
		t.Errorf("got %+v, %v; want\n%s", w, err, want)
	}
}

// siteName finds the variable of a site.
var siteName = regexp.MustCompile(`var (_ilS_\w+) =`)

func TestFilesOfAPackageShareNoNames(t *testing.T) {
	const text = "package shop\n\n//interlock:lock kind=plain on-timeout=skip\nfunc f() {}\n"
	of := map[string]string{}
	for _, name := range []string{"a_b.go", "a.b.go", "a-b.go", "a__b.go", "a_.b.go", "a._b.go", "ab.go", "a.x2d.b.go", "a_x2d_b.go", "a.go.go", "a_go.go", "ä.go"} {
		found := siteName.FindSubmatch(woven(t, weave.Source{Package: "shop", Path: "/src/" + name, Text: []byte(text), Spared: true}))
		if found == nil {
			t.Fatalf("%s: there is no site", name)
		}
		if other, taken := of[string(found[1])]; taken {
			t.Errorf("%s and %s both have %s", name, other, found[1])
		}
		of[string(found[1])] = name
	}
}

// FuzzFile: whatever the source is, what is woven is Go, and every line of the
// source is still on its line.
func FuzzFile(f *testing.F) {
	for _, src := range shapes(f) {
		f.Add(src.Text)
	}
	for _, c := range slips(f) {
		f.Add([]byte(c.source))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/src/a.go", Text: text, Spared: true})
		if err != nil || w == nil || w.Unread {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "a.go", w.Text, parser.ParseComments); err != nil {
			t.Fatalf("%v in\n%s\nwoven from\n%s", err, w.Text, text)
		}
		is := strings.Split(string(w.Text), "\n")
		for i, line := range strings.Split(string(text), "\n") {
			if i >= len(is) || !within(line, is[i]) {
				t.Fatalf("line %d, %q, is not where it was in\n%s", i+1, line, w.Text)
			}
		}
	})
}
