package archtest_test

import (
	"slices"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/archtest"
	"github.com/interlock-go/interlock/internal/tools/repo"
)

func at(dirs ...string) []string {
	var paths []string
	for _, dir := range dirs {
		paths = append(paths, repo.Path+"/"+dir)
	}
	return paths
}

func TestCheck(t *testing.T) {
	engine, memory, redis := at("engine")[0], at("engine/memory")[0], at("engine/redisengine")[0]
	for name, c := range map[string]struct {
		pkg  archtest.Package
		want []string
	}{
		"the root imports the contract and its default engine": {
			archtest.Package{ImportPath: repo.Path, Imports: append(at("engine", "engine/memory"), "context")}, nil},
		"the root imports no other engine": {
			archtest.Package{ImportPath: repo.Path, Imports: []string{redis}},
			[]string{".: imports engine/redisengine"}},
		"the contract imports none of our packages": {
			archtest.Package{ImportPath: engine, Imports: []string{repo.Path}},
			[]string{"engine: imports ."}},
		"an engine imports no other engine": {
			archtest.Package{ImportPath: redis, Imports: []string{engine, memory}},
			[]string{"engine/redisengine: imports engine/memory"}},
		"an engine imports the laws in tests only": {
			archtest.Package{ImportPath: memory, Imports: at("engine/enginetest")},
			[]string{"engine/memory: imports engine/enginetest"}},
		"the tests of an engine import the laws": {
			archtest.Package{ImportPath: memory, XTestImports: append(at("engine/enginetest", "engine/memory"), "testing")}, nil},
		"tests of an engine import no other engine": {
			archtest.Package{ImportPath: memory, TestImports: []string{redis}},
			[]string{"engine/memory: imports in a test engine/redisengine"}},
		"the library does not import testing": {
			archtest.Package{ImportPath: repo.Path, Imports: []string{"testing"}},
			[]string{".: imports testing outside of a test"}},
		"the laws import testing": {
			archtest.Package{ImportPath: at("engine/enginetest")[0], Imports: []string{"testing"}}, nil},
		"the command imports everything": {
			archtest.Package{ImportPath: at("cmd/interlock/demo")[0], Imports: []string{redis, repo.Path}}, nil},
		"the library does not import the command": {
			archtest.Package{ImportPath: at("guard")[0], Imports: at("cmd/interlock/demo")},
			[]string{"guard: imports cmd/interlock/demo"}},
		"every package must be listed": {
			archtest.Package{ImportPath: at("enginex")[0]},
			[]string{"enginex: is not listed in internal/tools/archtest"}},
		"packages of other modules are ignored": {
			archtest.Package{ImportPath: "example.com/interlock", Imports: []string{repo.Path}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := archtest.Check([]archtest.Package{c.pkg}); !slices.Equal(got, c.want) {
				t.Errorf("Check returned %q, want %q", got, c.want)
			}
		})
	}
}
