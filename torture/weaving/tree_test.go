package weaving_test

import (
	"archive/zip"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// bank has a function that tells whom it calls where it is. BANK is its path.
const bank = `package bank

import (
	"context"
	"fmt"
	"runtime"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=bank key=id kind=plain wait=0
func Move(ctx context.Context, id string, then func(where string) error) error {
	_, file, line, _ := runtime.Caller(0)
	return then(fmt.Sprint(file, ":", line))
}
`

// shop is a program that is inside of what is locked and comes again: only the
// lock refuses it.
const shop = `package main

import (
	"context"
	"errors"
	"fmt"

	"BANK"
	"github.com/interlock-go/interlock"
	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=visit key=id kind=plain wait=0
func visit(ctx context.Context, id string, then func() error) error { return then() }

func seen() string {
	ctx, place := context.Background(), ""
	moved := bank.Move(ctx, "a", func(where string) error {
		place = where
		return bank.Move(ctx, "a", func(string) error { return nil })
	})
	visited := visit(ctx, "a", func() error { return visit(ctx, "a", func() error { return nil }) })
	return fmt.Sprintf("in %s refused %t %t\n", place, errors.Is(moved, interlock.ErrContended), errors.Is(visited, interlock.ErrContended))
}

func main() { fmt.Print(seen()) }
`

// Tests have directives as well, in the package and beside it.
const (
	insideTest = `package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/interlock-go/interlock"
	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=inside key=id kind=plain wait=0
func inside(ctx context.Context, id string, then func() error) error { return then() }

func TestInside(t *testing.T) {
	fmt.Print(seen())
	err := inside(t.Context(), "a", func() error { return inside(t.Context(), "a", func() error { return nil }) })
	if !errors.Is(err, interlock.ErrContended) {
		t.Error("inside twice:", err)
	}
}
`
	beside = `package main_test

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-go/interlock"
	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=beside key=id kind=plain wait=0
func beside(ctx context.Context, id string, then func() error) error { return then() }

func TestBeside(t *testing.T) {
	err := beside(t.Context(), "a", func() error { return beside(t.Context(), "a", func() error { return nil }) })
	if !errors.Is(err, interlock.ErrContended) {
		t.Error("inside twice:", err)
	}
}
`
)

// A tree is one kind of project; go is run where the program is.
type tree struct {
	place
	bank string // the import path of the package
	file string // where the source of Move says it is, with the line
	main bool   // the package is in a main module, and below the program
}

// trees are the kinds of projects that there are.
var trees = []struct {
	name string
	make func(*testing.T) *tree
}{
	{"module", func(t *testing.T) *tree { return newTree(t, bank) }},
	{"dependency", dependencyTree},
	{"vendor", vendorTree},
	{"workspace", workspaceTree},
	{"cgo", cgoTree},
	{"crlf", func(t *testing.T) *tree { return newTree(t, strings.ReplaceAll(bank, "\n", "\r\n")) }},
	{"line", lineTree},
}

// newTree is a module with the package in it.
func newTree(t *testing.T, bankText string) *tree {
	t.Helper()
	tr := program(t, "example.com/shop/bank")
	tr.main, tr.file = true, filepath.Join(tr.dir, "bank", "bank.go:13")
	tr.write(t, map[string]string{
		"go.mod":       goMod("example.com/shop"),
		"bank/bank.go": bankText,
	})
	if strings.Contains(bankText, "\r\n") { // all of it, then
		tr.write(t, map[string]string{"main.go": strings.ReplaceAll(strings.ReplaceAll(shop, "BANK", tr.bank), "\n", "\r\n")})
	}
	return tr
}

// program is a tree that lacks the package and go.mod.
func program(t *testing.T, bankPath string) *tree {
	t.Helper()
	tr := &tree{place: place{filepath.Join(t.TempDir(), "a shop"), environment(t)}, bank: bankPath}
	tr.write(t, map[string]string{
		"main.go":        strings.ReplaceAll(shop, "BANK", bankPath),
		"main_test.go":   insideTest,
		"beside_test.go": beside,
	})
	return tr
}

// goMod is that of a module that uses this repository.
func goMod(path string, more ...string) string {
	return "module " + path + "\n\ngo 1.26.0\n\nrequire " + weave.Module + " v0.0.0\n\nreplace " + weave.Module + " v0.0.0 => " + bench.root + "\n" + strings.Join(more, "\n") + "\n"
}

// workspaceTree has the package in a module beside it, and both in a workspace.
func workspaceTree(t *testing.T) *tree {
	t.Helper()
	tr := program(t, "example.com/bank")
	tr.file = filepath.Join(tr.dir, "..", "bank", "bank.go:13")
	const lib = "\n\ngo 1.26.0\n\nrequire " + weave.Module + " v0.0.0\n"
	tr.write(t, map[string]string{
		"go.mod":          "module example.com/shop" + lib + "\nrequire example.com/bank v0.0.0\n",
		"../bank/go.mod":  "module example.com/bank" + lib,
		"../bank/bank.go": bank,
		"../go.work": "go 1.26.0\n\nuse (\n\t\"./a shop\"\n\t./bank\n)\n\nreplace (\n\texample.com/bank v0.0.0 => ./bank\n\t" +
			weave.Module + " v0.0.0 => " + bench.root + "\n)\n",
	})
	return tr
}

// vendorTree has copies of everything below it.
func vendorTree(t *testing.T) *tree {
	t.Helper()
	tr := program(t, "example.com/bank")
	tr.file = filepath.Join(tr.dir, "vendor", "example.com", "bank", "bank.go:13")
	tr.write(t, map[string]string{
		"go.mod":          goMod("example.com/shop", "require example.com/bank v0.0.0", "replace example.com/bank => ../bank"),
		"../bank/go.mod":  goMod("example.com/bank"),
		"../bank/bank.go": bank,
	})
	tr.must(t, "go", "mod", "vendor")
	return tr
}

// dependencyTree gets the package from a proxy, as most are had: it is in the
// module cache, with its version in the path.
func dependencyTree(t *testing.T) *tree {
	t.Helper()
	tr := program(t, "example.com/bank")
	cache := filepath.Join(tr.dir, "..", "cache")
	tr.file = filepath.Join(cache, "example.com", "bank@v1.0.0", "bank.go:13")
	mod := "module example.com/bank\n\ngo 1.26.0\n\nrequire " + weave.Module + " v0.0.0\n"
	tr.write(t, map[string]string{
		"go.mod": goMod("example.com/shop", "require example.com/bank v1.0.0"),
		"../proxy/example.com/bank/@v/v1.0.0.mod":  mod,
		"../proxy/example.com/bank/@v/v1.0.0.info": `{"Version":"v1.0.0"}`,
		"../proxy/example.com/bank/@v/v1.0.0.zip": zipped(t, map[string]string{
			"example.com/bank@v1.0.0/go.mod":  mod,
			"example.com/bank@v1.0.0/bank.go": bank,
		}),
	})
	tr.env = append(tr.env, "GOMODCACHE="+cache, "GOPROXY=file://"+filepath.Join(tr.dir, "..", "proxy"), "GOSUMDB=off",
		"GOFLAGS=-modcacherw") // so that it can be removed
	tr.must(t, "go", "mod", "tidy")
	return tr
}

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cgoTree has C in the file with the directive.
func cgoTree(t *testing.T) *tree {
	t.Helper()
	text := strings.Replace(bank, "import (", "// static int one(void) { return 1; }\nimport \"C\"\n\nimport (", 1)
	tr := newTree(t, text+"\nvar One = int(C.one())\n")
	tr.file = filepath.Join(tr.dir, "bank", "bank.go:16")
	return tr
}

// lineTree has a file that says it was made from another.
func lineTree(t *testing.T) *tree {
	t.Helper()
	tr := newTree(t, strings.Replace(bank, "//interlock:", "//line bank.y:100\n//interlock:", 1))
	tr.file = filepath.Join(tr.dir, "bank", "bank.y:102")
	return tr
}
