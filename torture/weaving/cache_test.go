package weaving_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// counter is a package with a lock of its own. NAME is its name.
const counter = `package NAME

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=NAME key=id kind=plain wait=0
func Enter(ctx context.Context, id string, then func() error) error { return then() }
`

const counters = `package main

import (
	"context"
	"fmt"

	"example.com/shop/left"
	"example.com/shop/right"
)

func main() {
	ctx := context.Background()
	nothing := func() error { return nil }
	l := left.Enter(ctx, "a", func() error { return left.Enter(ctx, "a", nothing) })
	r := right.Enter(ctx, "a", func() error { return right.Enter(ctx, "a", nothing) })
	fmt.Printf("refused: %t %t\n", l != nil, r != nil)
}
`

// Packages of the program that are compiled, as go build -v has them.
const (
	programPackage = "example.com/shop"
	leftPackage    = "example.com/shop/left"
	rightPackage   = "example.com/shop/right"
)

// After a change exactly those packages are recompiled that the go command would
// recompile, and woven results are never mixed with unwoven ones.
func TestWeavingCache(t *testing.T) {
	for _, form := range forms {
		if testing.Short() && form != overlay {
			continue
		}
		t.Run(form, func(t *testing.T) {
			s := newScript(t, form)
			all := []string{programPackage, leftPackage, rightPackage}
			if got := ours(s.build()); !slices.Equal(got, all) {
				t.Errorf("the first time %q are compiled", got)
			}
			s.step("nothing has changed", nil, "refused: true true\n")

			s.left(strings.Replace(counter, "wait=0", "wait=1ms", 1))
			s.step("an option has changed", []string{programPackage, leftPackage}, "refused: true true\n")

			s.left(strings.Replace(counter, "//interlock:lock", "// interlocked:", 1))
			s.step("a directive is gone", []string{programPackage, leftPackage}, "refused: false true\n")

			s.left(counter)
			s.step("it is back, and was kept", nil, "refused: true true\n")

			if got := ours(s.compiled("go", "build", "-v", "-o", "plain", ".")); !slices.Equal(got, all) {
				t.Errorf("a plain build compiles %q", got)
			}
			if out, code := s.run(t.Context(), t, "./plain"); code != 78 {
				t.Errorf("a plain build exits with %d: %s", code, out)
			}
			s.step("a plain build came between", nil, "refused: true true\n")
			if got := s.compiled("go", "build", "-v", "-o", "plain", "."); len(got) > 0 {
				t.Errorf("a woven build came between two plain ones, and the second compiles %q", got)
			}

			s.write(t, map[string]string{"../interlock/woven/edited.go": "package woven\n\nfunc init() { print(\"edited, \") }\n"})
			others := []string{weave.Runtime}
			if form == toolexec {
				others = []string{weave.Marker, weave.Runtime} // woven code finds the one through the other
			}
			s.step("the runtime of woven code has changed", append(all, others...), "edited, refused: true true\n")
		})
	}
}

// A script is a program that is built again and again.
type script struct {
	*testing.T
	place
	form string
}

func newScript(t *testing.T, form string) *script {
	t.Helper()
	s := &script{t, place{filepath.Join(t.TempDir(), "shop"), environment(t)}, form}
	s.write(t, map[string]string{
		"go.mod":         "module example.com/shop\n\ngo 1.26.0\n\nrequire " + weave.Module + " v0.0.0\n\nreplace " + weave.Module + " => ../interlock\n",
		"main.go":        counters,
		"right/right.go": strings.ReplaceAll(counter, "NAME", "right"),
	})
	s.left(counter)
	s.library(filepath.Join(s.dir, "..", "interlock"))
	return s
}

// left writes one of the packages anew.
func (s *script) left(text string) {
	s.Helper()
	s.write(s.T, map[string]string{"left/left.go": strings.ReplaceAll(text, "NAME", "left")})
}

// library copies what a woven program is made of, to be edited.
func (s *script) library(to string) {
	s.Helper()
	err := filepath.WalkDir(bench.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(bench.root, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if rel != "." && (err == nil || e.Name()[0] == '.' || e.Name() == "testdata") {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if rel != "go.mod" && !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		s.Fatal(err)
	}
}

// build builds the program, woven, and returns what was compiled.
func (s *script) build() []string {
	s.Helper()
	return s.compiled(goArgs(s.T, s.form, "build", "-v", "-o", "program", ".")...)
}

// step builds the program, and checks what was compiled for it, which is woven in
// and what it says.
func (s *script) step(when string, want []string, says string) {
	s.Helper()
	if got := s.build(); !slices.Equal(got, want) {
		s.Errorf("%s: %q are compiled, want %q", when, got, want)
	}
	if said := s.must(s.T, "./program"); said != says {
		s.Errorf("%s: it says %q, want %q", when, said, says)
	}
	var sites string
	for i, name := range []string{"left", "right"} {
		if strings.Fields(says[strings.Index(says, "refused:"):])[i+1] == "true" {
			sites += "lock example.com/shop/" + name + ".Enter\n"
		}
	}
	if got := s.sites(s.T, "program"); got != sites {
		s.Errorf("%s: woven in is\n%s\nwant\n%s", when, got, sites)
	}
}

// compiled runs go build -v and returns the packages that it compiled, in order.
func (s *script) compiled(args ...string) []string {
	s.Helper()
	packages := strings.Fields(s.must(s.T, args...))
	slices.Sort(packages)
	return packages
}

// ours are the packages of the program.
func ours(packages []string) []string {
	return slices.DeleteFunc(packages, func(p string) bool { return !strings.HasPrefix(p+"/", programPackage+"/") })
}
