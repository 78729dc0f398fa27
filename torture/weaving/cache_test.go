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

// lockPackage is the source of a package with a lock. NAME is its name.
const lockPackage = `package NAME

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=NAME key=id kind=plain wait=0
func Enter(ctx context.Context, id string, then func() error) error { return then() }
`

const lockProgram = `package main

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

// The packages of the program, as go build -v prints them.
const (
	programPackage = "example.com/shop"
	leftPackage    = "example.com/shop/left"
	rightPackage   = "example.com/shop/right"
)

// After a change, a woven build recompiles the same packages as the go command would. It
// never mixes woven with unwoven packages.
func TestWeavingCache(t *testing.T) {
	for _, form := range forms {
		if testing.Short() && form != overlay {
			continue
		}
		t.Run(form, func(t *testing.T) {
			s := newCacheTest(t, form)
			all := []string{programPackage, leftPackage, rightPackage}
			if got := programPackages(s.build()); !slices.Equal(got, all) {
				t.Errorf("the first build compiles %q, want all packages", got)
			}
			s.wantBuild("no change", nil, "refused: true true\n")

			s.writeLeft(strings.Replace(lockPackage, "wait=0", "wait=1ms", 1))
			s.wantBuild("a changed option", []string{programPackage, leftPackage}, "refused: true true\n")

			s.writeLeft(strings.Replace(lockPackage, "//interlock:lock", "// interlocked:", 1))
			s.wantBuild("a removed directive", []string{programPackage, leftPackage}, "refused: false true\n")

			s.writeLeft(lockPackage)
			s.wantBuild("the directive restored, from the cache", nil, "refused: true true\n")

			if got := programPackages(s.compiled("go", "build", "-v", "-o", "plain", ".")); !slices.Equal(got, all) {
				t.Errorf("a plain build compiles %q, want all packages", got)
			}
			if out, code := s.run(t.Context(), t, "./plain"); code != 78 {
				t.Errorf("a program without weaving exits with %d, want 78: %s", code, out)
			}
			s.wantBuild("after a plain build", nil, "refused: true true\n")
			if got := s.compiled("go", "build", "-v", "-o", "plain", "."); len(got) > 0 {
				t.Errorf("a plain build after a woven one compiles %q, want nothing", got)
			}

			s.write(t, map[string]string{"../interlock/woven/edited.go": "package woven\n\nfunc init() { print(\"edited, \") }\n"})
			others := []string{weave.Runtime}
			if form == toolexec {
				others = []string{weave.Marker, weave.Runtime} // the marker imports the runtime
			}
			s.wantBuild("a changed runtime of woven code", append(all, others...), "edited, refused: true true\n")
		})
	}
}

// A cacheTest is a program that is edited and rebuilt.
type cacheTest struct {
	*testing.T
	workDir
	form string
}

func newCacheTest(t *testing.T, form string) *cacheTest {
	t.Helper()
	s := &cacheTest{t, workDir{filepath.Join(t.TempDir(), "shop"), environment(t)}, form}
	s.write(t, map[string]string{
		"go.mod":         "module example.com/shop\n\ngo 1.26.0\n\nrequire " + weave.Module + " v0.0.0\n\nreplace " + weave.Module + " => ../interlock\n",
		"main.go":        lockProgram,
		"right/right.go": strings.ReplaceAll(lockPackage, "NAME", "right"),
	})
	s.writeLeft(lockPackage)
	s.copyLibrary(filepath.Join(s.dir, "..", "interlock"))
	return s
}

// writeLeft writes the source of the package left.
func (s *cacheTest) writeLeft(text string) {
	s.Helper()
	s.write(s.T, map[string]string{"left/left.go": strings.ReplaceAll(text, "NAME", "left")})
}

// copyLibrary copies the module that woven programs import, so that it can be edited.
func (s *cacheTest) copyLibrary(to string) {
	s.Helper()
	err := filepath.WalkDir(shared.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(shared.root, path)
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

// build builds the woven program and returns the packages that were compiled.
func (s *cacheTest) build() []string {
	s.Helper()
	return s.compiled(goArgs(s.T, s.form, "build", "-v", "-o", "program", ".")...)
}

// wantBuild builds the program. It checks which packages were compiled, what the program
// prints and which directives are woven in.
func (s *cacheTest) wantBuild(change string, want []string, output string) {
	s.Helper()
	if got := s.build(); !slices.Equal(got, want) {
		s.Errorf("%s: compiled %q, want %q", change, got, want)
	}
	if got := s.must(s.T, "./program"); got != output {
		s.Errorf("%s: the program prints %q, want %q", change, got, output)
	}
	var sites string
	for i, name := range []string{"left", "right"} {
		if strings.Fields(output[strings.Index(output, "refused:"):])[i+1] == "true" {
			sites += "lock example.com/shop/" + name + ".Enter\n"
		}
	}
	if got := s.sites(s.T, "program"); got != sites {
		s.Errorf("%s: woven sites are\n%s\nwant\n%s", change, got, sites)
	}
}

// compiled runs go build -v and returns the packages that it compiled, sorted.
func (s *cacheTest) compiled(args ...string) []string {
	s.Helper()
	packages := strings.Fields(s.must(s.T, args...))
	slices.Sort(packages)
	return packages
}

// programPackages returns the packages that belong to the program.
func programPackages(packages []string) []string {
	return slices.DeleteFunc(packages, func(p string) bool { return !strings.HasPrefix(p+"/", programPackage+"/") })
}
