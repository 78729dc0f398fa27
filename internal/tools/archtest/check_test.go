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
		"the root may import the contract and its default engine": {
			archtest.Package{ImportPath: repo.Path, Imports: append(at("engine", "engine/memory"), "context")}, nil},
		"the root may not import another engine": {
			archtest.Package{ImportPath: repo.Path, Imports: []string{redis}},
			[]string{".: imports engine/redisengine"}},
		"the contract imports nothing of ours": {
			archtest.Package{ImportPath: engine, Imports: []string{repo.Path}},
			[]string{"engine: imports ."}},
		"an engine may not import another": {
			archtest.Package{ImportPath: redis, Imports: []string{engine, memory}},
			[]string{"engine/redisengine: imports engine/memory"}},
		"nor the laws, outside of a test": {
			archtest.Package{ImportPath: memory, Imports: at("engine/enginetest")},
			[]string{"engine/memory: imports engine/enginetest"}},
		"but in one": {
			archtest.Package{ImportPath: memory, XTestImports: append(at("engine/enginetest", "engine/memory"), "testing")}, nil},
		"tests have arrows too": {
			archtest.Package{ImportPath: memory, TestImports: []string{redis}},
			[]string{"engine/memory: imports in a test engine/redisengine"}},
		"no library imports testing": {
			archtest.Package{ImportPath: repo.Path, Imports: []string{"testing"}},
			[]string{".: imports testing outside of a test"}},
		"the laws do": {
			archtest.Package{ImportPath: at("engine/enginetest")[0], Imports: []string{"testing"}}, nil},
		"the command imports what it likes": {
			archtest.Package{ImportPath: at("cmd/interlock/demo")[0], Imports: []string{redis, repo.Path}}, nil},
		"nobody imports the command": {
			archtest.Package{ImportPath: at("guard")[0], Imports: at("cmd/interlock/demo")},
			[]string{"guard: imports cmd/interlock/demo"}},
		"a package without a place gets none": {
			archtest.Package{ImportPath: at("enginex")[0]},
			[]string{"enginex: has no line in internal/tools/archtest"}},
		"other people's packages are theirs": {
			archtest.Package{ImportPath: "example.com/interlock", Imports: []string{repo.Path}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := archtest.Check([]archtest.Package{c.pkg}); !slices.Equal(got, c.want) {
				t.Errorf("the check says %q, want %q", got, c.want)
			}
		})
	}
}
