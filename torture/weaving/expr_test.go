package weaving_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// largeModule is the module in which every function gets a directive. It implements a
// language with parser, compiler and virtual machine. It has generated code, generics,
// reflection, recursion and thousands of tests.
const largeModule = "github.com/expr-lang/expr@v1.17.8"

// variableParts matches the parts of test names that differ between runs: addresses and
// times.
var variableParts = regexp.MustCompile(`0x[0-9a-f]+|time\.Date\([^)]*\)`)

// counterFile is added to each package. It returns a different key for each call, so every
// call has its own lock, and recursion and parallel tests do not wait. At each power of
// two it writes the number of calls to a file.
const counterFile = `package PACKAGE

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

var interlockCalls atomic.Int64

func interlockCall() int64 {
	n := interlockCalls.Add(1)
	if n&(n-1) == 0 { // powers of two
		_ = os.WriteFile(filepath.Join(os.Getenv("INTERLOCK_CALLS"), strconv.Itoa(os.Getpid())+"-DIR"), []byte(strconv.FormatInt(n, 10)), 0o644)
	}
	return n
}
`

// A module's tests have the same outcomes with a lock in every function as without:
// weaving changes no results, panics, recursion, reflection or line numbers.
func TestWeavingEverywhere(t *testing.T) {
	packages := []string{"./..."}
	if testing.Short() {
		packages = []string{"./parser/...", "./checker"}
	}
	m := instrumentModule(t)
	notes := filepath.Join(t.TempDir(), "calls")
	if err := os.Mkdir(notes, 0o755); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "INTERLOCK_CALLS="+notes)

	// The vet of this Go version reports mistakes in the module, woven or not.
	args := append([]string{"test", "-json", "-count=1", "-vet=off"}, packages...)
	woven := m.outcomes(t, goArgs(t, overlay, args...)...)
	locks := locksTaken(t, notes)
	m.env = append(m.env, "INTERLOCK_UNWOVEN=allow")
	plain := m.outcomes(t, append([]string{"go"}, args...)...)

	count, failing := map[string]int{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		if woven[name] != plain[name] {
			t.Errorf("%s: the outcome is %q woven and %q unwoven, want the same", name, woven[name], plain[name])
		}
		count[plain[name]]++
		if plain[name] == "fail" {
			failing = append(failing, name)
		}
	}
	if len(woven) != len(plain) {
		t.Errorf("%d outcomes woven and %d unwoven, want the same number", len(woven), len(plain))
	}
	if count["pass"] < 100 || count["build-fail"] > 0 || locks < 10_000 {
		t.Errorf("outcomes: %v with %d locks, want at least 100 passed tests and 10,000 locks", count, locks)
	}
	t.Logf("%d functions with a lock in %d packages; at least %d locks acquired; tests: %v; failing woven and unwoven: %q", m.functions, m.packages, locks, count, failing)
}

// An instrumentedModule is a module with a directive on every function.
type instrumentedModule struct {
	workDir
	functions, packages int
}

// instrumentModule downloads largeModule and adds directives to a copy.
func instrumentModule(t *testing.T) *instrumentedModule {
	t.Helper()
	m := &instrumentedModule{workDir: workDir{filepath.Join(t.TempDir(), "expr"), environment(t)}}
	copyDir(t, download(t), m.dir)
	marked := map[string]bool{}
	err := filepath.WalkDir(m.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		name, n := addDirectives(t, path)
		dir, err := filepath.Rel(m.dir, filepath.Dir(path))
		if n > 0 && !marked[dir] {
			marked[dir] = true
			text := strings.ReplaceAll(strings.ReplaceAll(counterFile, "PACKAGE", name), "DIR", strings.ReplaceAll(filepath.ToSlash(dir), "/", "-"))
			m.write(t, map[string]string{filepath.Join(dir, "interlock_calls.go"): text})
		}
		m.functions += n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.packages = len(marked)
	m.must(t, "go", "mod", "edit", "-go=1.26.0", "-require="+weave.Module+"@v0.0.0", "-replace="+weave.Module+"="+shared.root)
	return m
}

// download downloads largeModule and returns its directory in the module cache.
func download(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", largeModule)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if err := errors.Join(err, json.Unmarshal(out, &module)); err != nil {
		t.Fatalf("download of %s: %v\n%s", largeModule, err, module.Error)
	}
	return module.Dir
}

// copyDir copies a directory and makes the copy writable.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// addDirectives adds a directive to each function of a file. It returns the name of the
// file's package and the number of directives.
func addDirectives(t *testing.T, path string) (string, int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	last, count := 0, 0
	for _, decl := range tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Recv == nil && fn.Name.Name == "init" {
			continue
		}
		at := fset.Position(fn.Pos()).Offset
		out.Write(text[last:at])
		out.WriteString("//interlock:lock key=interlockCall() kind=plain wait=0 on-timeout=panic\n")
		last, count = at, count+1
	}
	if count == 0 {
		return tree.Name.Name, 0
	}
	out.Write(text[last:])
	end := fset.Position(tree.Name.End()).Offset // the text before it is unchanged
	marked := slices.Concat(out.Bytes()[:end], []byte("; import _ "+strconv.Quote(weave.Marker)), out.Bytes()[end:])
	if err := os.WriteFile(path, marked, 0o644); err != nil {
		t.Fatal(err)
	}
	return tree.Name.Name, count
}

// outcomes runs go test -json and returns the outcome of each test and package.
func (m *instrumentedModule) outcomes(t *testing.T, args ...string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = m.dir, m.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	ended := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var e struct{ Action, Package, ImportPath, Test string }
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the output of go test is not JSON: %v\n%s", err, stderr.String())
		}
		switch e.Action {
		case "pass", "fail", "skip", "build-fail":
			name := fmt.Sprint(e.Package, e.ImportPath, " ", variableParts.ReplaceAllString(e.Test, "…"))
			if ended[name] != "fail" {
				ended[name] = e.Action
			}
		}
	}
	if len(ended) == 0 {
		t.Fatalf("go test reported no result:\n%s", stderr.String())
	}
	return ended
}

// locksTaken returns a lower bound of the number of acquired locks.
func locksTaken(t *testing.T, notes string) int {
	t.Helper()
	all, err := os.ReadDir(notes)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, e := range all {
		text, err := os.ReadFile(filepath.Join(notes, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
