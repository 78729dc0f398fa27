package weave_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// bank is a package whose only function is locked for everybody at once; it
// tells its caller whether it is woven by refusing the second of two.
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

// dependent is a program and a module beside it that has the directives.
func dependent(t *testing.T) *project {
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

func (p *project) refuses(t *testing.T, args ...string) {
	t.Helper()
	out, code := p.woven(t, append(append([]string{"run"}, args...), ".")...)
	if code != 0 || out != "refused: true\n" {
		t.Errorf("exits with %d and says\n%s", code, out)
	}
}

func TestADependencyIsWoven(t *testing.T) {
	dependent(t).refuses(t)
}

func TestAVendoredTreeIsWoven(t *testing.T) {
	p := dependent(t)
	p.must(t, "go", "mod", "vendor")
	t.Setenv("GOFLAGS", "")
	p.refuses(t)
	p.refuses(t, "-mod=vendor", "-trimpath")

	t.Run("also without the marker, which cannot be added", func(t *testing.T) {
		p.write(t, "vendor/example.com/bank/bank.go", unmarked)
		p.refuses(t)
	})
}

func TestAWorkspaceIsWoven(t *testing.T) {
	p := dependent(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "")
	p.write(t, "go.mod", "module example.com/shop\n\ngo 1.26.0\n\nrequire example.com/bank v0.0.0\n")
	p.write(t, "../go.work", "go 1.26.0\n\nuse (\n\t\"./a shop\"\n\t./bank\n)\n\nreplace (\n\texample.com/bank v0.0.0 => ./bank\n\t"+weave.Module+" v0.0.0 => "+root+"\n)\n")
	p.refuses(t)
	p.must(t, "go", "work", "vendor")
	p.refuses(t)
}

func TestCarriageReturnsAndCgoAreBuilt(t *testing.T) {
	p := dependent(t)
	p.write(t, "../bank/bank.go", strings.ReplaceAll(bank, "\n", "\r\n"))
	p.refuses(t)
	p.write(t, "../bank/bank.go", strings.Replace(bank, "import (", "// int one(void) { return 1; }\nimport \"C\"\n\nimport (", 1)+"\nvar _ = C.one()\n")
	if out := p.must(t, "go", "env", "CGO_ENABLED", "CC"); strings.HasPrefix(out, "0") {
		t.Skip("no cgo here")
	}
	p.refuses(t)
}

// The go command calls a test that is a package of its own by another path, and so
// does whatever names its functions: they may be called as those of the package.
func TestATestBesideThePackageHasItsOwnNames(t *testing.T) {
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
