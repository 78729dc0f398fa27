package weave_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// bank is a package with one locked function. If it is woven, it refuses a nested call with
// the same key.
const bank = `package bank

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=bank key=id kind=plain wait=0
func Move(ctx context.Context, id string, then func() error) error { return then() }
`

const mover = `package main

import (
	"context"
	"fmt"

	"example.com/bank"
)

func main() {
	ctx := context.Background()
	move := func() error { return nil }
	err := bank.Move(ctx, "a", func() error { return bank.Move(ctx, "a", move) })
	fmt.Println("refused:", err != nil)
}
`

// newDependent returns a program that imports bank from another module.
func newDependent(t *testing.T) *project {
	t.Helper()
	p := newProject(t, map[string]string{"main.go": mover})
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "../bank/go.mod", "module example.com/bank\n\ngo 1.26.0\n\nrequire "+weave.Module+" v0.0.0\n")
	p.write(t, "../bank/bank.go", bank)
	p.write(t, "go.mod", "module example.com/shop\n\ngo 1.26.0\n\nrequire (\n\texample.com/bank v0.0.0\n\t"+weave.Module+" v0.0.0 // indirect\n)\n\nreplace (\n\texample.com/bank => ../bank\n\t"+weave.Module+" => "+root+"\n)\n")
	return p
}

// checkRefuses runs the woven program and checks that the nested call is refused.
func (p *project) checkRefuses(t *testing.T, args ...string) {
	t.Helper()
	out, code := p.woven(t, append(append([]string{"run"}, args...), ".")...)
	if code != 0 || out != "refused: true\n" {
		t.Errorf("exit status %d, want 0 and \"refused: true\"\n%s", code, out)
	}
}

func TestADependencyIsWoven(t *testing.T) {
	newDependent(t).checkRefuses(t)
}

func TestAVendoredTreeIsWoven(t *testing.T) {
	p := newDependent(t)
	p.must(t, "go", "mod", "vendor")
	t.Setenv("GOFLAGS", "")
	p.checkRefuses(t)
	p.checkRefuses(t, "-mod=vendor", "-trimpath")

	t.Run("a vendored file may lack the marker", func(t *testing.T) {
		p.write(t, "vendor/example.com/bank/bank.go", unmarked)
		p.checkRefuses(t)
	})
}

func TestAWorkspaceIsWoven(t *testing.T) {
	p := newDependent(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "")
	p.write(t, "go.mod", "module example.com/shop\n\ngo 1.26.0\n\nrequire example.com/bank v0.0.0\n")
	p.write(t, "../go.work", "go 1.26.0\n\nuse (\n\t\"./a shop\"\n\t./bank\n)\n\nreplace (\n\texample.com/bank v0.0.0 => ./bank\n\t"+weave.Module+" v0.0.0 => "+root+"\n)\n")
	p.checkRefuses(t)
	p.must(t, "go", "work", "vendor")
	p.checkRefuses(t)
}

func TestFilesWithCarriageReturnsOrCgoAreWoven(t *testing.T) {
	p := newDependent(t)
	p.write(t, "../bank/bank.go", strings.ReplaceAll(bank, "\n", "\r\n"))
	p.checkRefuses(t)
	p.write(t, "../bank/bank.go", strings.Replace(bank, "import (", "// int one(void) { return 1; }\nimport \"C\"\n\nimport (", 1)+"\nvar _ = C.one()\n")
	if out := p.must(t, "go", "env", "CGO_ENABLED", "CC"); strings.HasPrefix(out, "0") {
		t.Skip("cgo is not available")
	}
	p.checkRefuses(t)
}

// An external test package may have functions with the same names as the package. The sites
// of both must differ, so they contain the package path of the go command.
func TestAnExternalTestPackageHasItsOwnSites(t *testing.T) {
	const text = "package %s\n\nimport _ \"" + weave.Marker + "\"\n\n//interlock:lock kind=plain on-timeout=skip\nfunc f() {}\n"
	p := newProject(t, map[string]string{
		"a.go":      fmt.Sprintf(text, "shop"),
		"b_test.go": fmt.Sprintf(text, "shop_test"),
		"c_test.go": strings.Replace(fmt.Sprintf(text, "shop"), "func f()", "func g()", 1),
	})
	tree, err := weave.Scan(t.Context(), p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range tree.Sites {
		got = append(got, s.Func)
	}
	if want := []string{"example.com/shop.f", "example.com/shop_test.f", "example.com/shop.g"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
