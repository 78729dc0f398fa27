package weaving_test

import (
	"archive/zip"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// bank is a package whose locked function passes its source position to a callback.
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

// shop is a program with locked functions that call themselves. The lock refuses the nested
// call. BANK is the import path of bank.
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
	ctx, position := context.Background(), ""
	moved := bank.Move(ctx, "a", func(where string) error {
		position = where
		return bank.Move(ctx, "a", func(string) error { return nil })
	})
	visited := visit(ctx, "a", func() error { return visit(ctx, "a", func() error { return nil }) })
	return fmt.Sprintf("in %s refused %t %t\n", position, errors.Is(moved, interlock.ErrContended), errors.Is(visited, interlock.ErrContended))
}

func main() { fmt.Print(seen()) }
`

// The program's tests have directives too, in the package and in its external tests.
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
		t.Error("a second call was not refused:", err)
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
		t.Error("a second call was not refused:", err)
	}
}
`
)

// A tree is a project of one kind. The go command runs in the program's directory.
type tree struct {
	workDir
	bank string // import path of the bank package
	file string // expected source position of Move: file and line
	main bool   // the bank package is in the program's module
}

// trees are the kinds of projects.
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

// newTree returns a module that contains the bank package.
func newTree(t *testing.T, bankText string) *tree {
	t.Helper()
	tr := program(t, "example.com/shop/bank")
	tr.main, tr.file = true, filepath.Join(tr.dir, "bank", "bank.go:13")
	tr.write(t, map[string]string{
		"go.mod":       goMod("example.com/shop"),
		"bank/bank.go": bankText,
	})
	if strings.Contains(bankText, "\r\n") { // the program has such line ends, too
		tr.write(t, map[string]string{"main.go": strings.ReplaceAll(strings.ReplaceAll(shop, "BANK", tr.bank), "\n", "\r\n")})
	}
	return tr
}

// program returns a tree without the bank package and without go.mod.
func program(t *testing.T, bankPath string) *tree {
	t.Helper()
	tr := &tree{workDir: workDir{filepath.Join(t.TempDir(), "a shop"), environment(t)}, bank: bankPath}
	tr.write(t, map[string]string{
		"main.go":        strings.ReplaceAll(shop, "BANK", bankPath),
		"main_test.go":   insideTest,
		"beside_test.go": beside,
	})
	return tr
}

// goMod returns the go.mod of a module that uses this repository.
func goMod(path string, more ...string) string {
	return "module " + path + "\n\ngo 1.26.0\n\nrequire " + weave.Module + " v0.0.0\n\nreplace " + weave.Module + " v0.0.0 => " + shared.root + "\n" + strings.Join(more, "\n") + "\n"
}

// workspaceTree has the bank package in a second module, and both in a workspace.
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
			weave.Module + " v0.0.0 => " + shared.root + "\n)\n",
	})
	return tr
}

// vendorTree has a vendor directory.
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

// dependencyTree gets the bank package from a module proxy. It is in the module cache,
// with its version in the path.
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
		"GOFLAGS=-modcacherw") // so that the cache can be removed
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

// cgoTree has cgo in the file with the directive.
func cgoTree(t *testing.T) *tree {
	t.Helper()
	text := strings.Replace(bank, "import (", "// static int one(void) { return 1; }\nimport \"C\"\n\nimport (", 1)
	tr := newTree(t, text+"\nvar One = int(C.one())\n")
	tr.file = filepath.Join(tr.dir, "bank", "bank.go:16")
	return tr
}

// lineTree has a //line comment in the file with the directive.
func lineTree(t *testing.T) *tree {
	t.Helper()
	tr := newTree(t, strings.Replace(bank, "//interlock:", "//line bank.y:100\n//interlock:", 1))
	tr.file = filepath.Join(tr.dir, "bank", "bank.y:102")
	return tr
}
