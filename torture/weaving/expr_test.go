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

// strewn is the module in which every function gets a directive: a language with
// a parser, a compiler and a machine, generated code, generics, reflection,
// recursion everywhere, and some thousand tests.
const strewn = "github.com/expr-lang/expr@v1.17.8"

// passing is what of a test's name is another in each run: some say where in memory
// their arguments are, and when it is.
var passing = regexp.MustCompile(`0x[0-9a-f]+|time\.Date\([^)]*\)`)

// turns is a file in each package of it. A key that is another for each call gives
// every call a lock of its own: recursion and parallel tests do not wait, and no
// call goes without. Every now and then it leaves a note how many there were.
const turns = `package PACKAGE

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

var interlockTurns atomic.Int64

func interlockTurn() int64 {
	n := interlockTurns.Add(1)
	if n&(n-1) == 0 { // powers of two
		_ = os.WriteFile(filepath.Join(os.Getenv("INTERLOCK_TURNS"), strconv.Itoa(os.Getpid())+"-PLACE"), []byte(strconv.FormatInt(n, 10)), 0o644)
	}
	return n
}
`

// The tests of a module pass with a lock in each of its functions just as they do
// with none: neither results, panics, recursion, reflection nor lines changed.
func TestWeavingEverywhere(t *testing.T) {
	what := []string{"./..."}
	if testing.Short() {
		what = []string{"./parser/...", "./checker"}
	}
	m := strew(t)
	notes := filepath.Join(t.TempDir(), "turns")
	if err := os.Mkdir(notes, 0o755); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "INTERLOCK_TURNS="+notes)

	// Vet finds mistakes in it with a newer Go than it was made for, woven or not.
	args := append([]string{"test", "-json", "-count=1", "-vet=off"}, what...)
	woven := m.outcomes(t, goArgs(t, overlay, args...)...)
	taken := turnsTaken(t, notes)
	m.env = append(m.env, "INTERLOCK_UNWOVEN=allow")
	plain := m.outcomes(t, append([]string{"go"}, args...)...)

	count, others := map[string]int{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		if woven[name] != plain[name] {
			t.Errorf("%s: %q woven, %q as it stands", name, woven[name], plain[name])
		}
		count[plain[name]]++
		if plain[name] == "fail" {
			others = append(others, name)
		}
	}
	if len(woven) != len(plain) {
		t.Errorf("%d outcomes woven, %d as it stands", len(woven), len(plain))
	}
	if count["pass"] < 100 || count["build-fail"] > 0 || taken < 10_000 {
		t.Errorf("tests: %v, with %d locks", count, taken)
	}
	t.Logf("%d functions with a lock in %d packages; locks taken: %d at least; tests: %v; that fail either way: %q", m.functions, m.packages, taken, count, others)
}

// A module is one with directives all over it.
type module struct {
	place
	functions, packages int
}

// strew fetches the module, and puts a directive on each function of a copy.
func strew(t *testing.T) *module {
	t.Helper()
	m := &module{place: place{filepath.Join(t.TempDir(), "expr"), environment(t)}}
	copied(t, fetched(t), m.dir)
	marked := map[string]bool{}
	err := filepath.WalkDir(m.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		name, n := everywhere(t, path)
		dir, err := filepath.Rel(m.dir, filepath.Dir(path))
		if n > 0 && !marked[dir] {
			marked[dir] = true
			text := strings.ReplaceAll(strings.ReplaceAll(turns, "PACKAGE", name), "PLACE", strings.ReplaceAll(filepath.ToSlash(dir), "/", "-"))
			m.write(t, map[string]string{filepath.Join(dir, "interlock_turns.go"): text})
		}
		m.functions += n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.packages = len(marked)
	m.must(t, "go", "mod", "edit", "-go=1.26.0", "-require="+weave.Module+"@v0.0.0", "-replace="+weave.Module+"="+bench.root)
	return m
}

// fetched returns where the module is on this machine.
func fetched(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", strewn)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var said struct{ Dir, Error string }
	if err := errors.Join(err, json.Unmarshal(out, &said)); err != nil {
		t.Fatalf("%s cannot be had: %v\n%s", strewn, err, said.Error)
	}
	return said.Dir
}

// copied copies a directory such that it can be written to.
func copied(t *testing.T, from, to string) {
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

// everywhere puts a directive on each function of a file, and returns the name of
// its package and how many there are.
func everywhere(t *testing.T, path string) (string, int) {
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
		out.WriteString("//interlock:lock key=interlockTurn() kind=plain wait=0 on-timeout=panic\n")
		last, count = at, count+1
	}
	if count == 0 {
		return tree.Name.Name, 0
	}
	out.Write(text[last:])
	end := fset.Position(tree.Name.End()).Offset // nothing has changed before it
	marked := slices.Concat(out.Bytes()[:end], []byte("; import _ "+strconv.Quote(weave.Marker)), out.Bytes()[end:])
	if err := os.WriteFile(path, marked, 0o644); err != nil {
		t.Fatal(err)
	}
	return tree.Name.Name, count
}

// outcomes runs go test -json and returns how each test and each package ended.
func (m *module) outcomes(t *testing.T, args ...string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = m.dir, m.env
	var complaints strings.Builder
	cmd.Stderr = &complaints
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
			t.Fatalf("%v\n%s", err, complaints.String())
		}
		switch e.Action {
		case "pass", "fail", "skip", "build-fail":
			name := fmt.Sprint(e.Package, e.ImportPath, " ", passing.ReplaceAllString(e.Test, "…"))
			if ended[name] != "fail" {
				ended[name] = e.Action
			}
		}
	}
	if len(ended) == 0 {
		t.Fatalf("no test ended: %s", complaints.String())
	}
	return ended
}

// turnsTaken is how many locks there were at least.
func turnsTaken(t *testing.T, notes string) int {
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
