package weave_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// TestMain lets the go command call the test binary like the command interlock.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "weave":
			os.Exit(tool(weave.Toolexec(os.Args[2:])))
		case "cover-shim":
			os.Exit(tool(weave.CoverShim(os.Args[2:])))
		case "tracer":
			os.Exit(tool(tracer(os.Args[2], os.Args[3:])))
		}
	}
	// With the race detector a program sleeps for a second before it exits, and the tests run
	// this one hundreds of times.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

func tool(err error) int {
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return e.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// shop is a program that prints how many callers were in pay at a time, and whether its
// other directives work. A test checks that a panic reports line 42.
const shop = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	_ "github.com/interlock-go/interlock/on"
)

var inside, most atomic.Int32

//interlock:lock name=pay key=id
func pay(ctx context.Context, id string) error {
	n := inside.Add(1)
	defer inside.Add(-1)
	most.Store(max(most.Load(), n))
	time.Sleep(10 * time.Millisecond)
	return nil
}

//interlock:once name=order key=id
func order(ctx context.Context, id string) (n int, _ error) {
	orders++
	return orders, nil
}

var orders int

//interlock:lock name=pay key=id wait=0 on-timeout=call:later
func now(_ context.Context, id string) (string, error) { return "now", nil }

func later(_ context.Context, id string) (string, error) { return "later", nil }

//interlock:lock name=fall key=id
func fall(ctx context.Context, id string) error {
	panic("fell") // line 42
}

func main() {
	if len(os.Args) > 1 {
		_ = fall(context.Background(), "a")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _ = pay(context.Background(), "a") })
	}
	all.Wait()
	fmt.Println("at a time:", most.Load())
	first, err1 := order(context.Background(), "b")
	second, err2 := order(context.Background(), "b")
	fmt.Println("orders:", first, second, errors.Join(err1, err2))
	err := pay(context.Background(), "")
	fmt.Println("empty key:", errors.Is(err, interlock.ErrKey))
	ctx, hold, err := interlock.From(context.Background()).Mutex("pay:c").Lock(context.Background())
	if err != nil {
		panic(err)
	}
	when, err := now(context.Background(), "c")
	fmt.Println("busy:", when, err)
	_ = ctx
	fmt.Println("unlocked:", hold.Unlock())
}
`

// wovenOutput is the output of shop when it is woven.
const wovenOutput = `at a time: 1
orders: 1 1 <nil>
empty key: true
busy: later <nil>
unlocked: <nil>
`

// A project is a module in a temporary directory that uses this repository.
type project struct {
	dir string
	env []string
}

func newProject(t testing.TB, files map[string]string) *project {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := &project{dir: filepath.Join(t.TempDir(), "a shop")}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "")
	p.write(t, "go.mod", "module example.com/shop\n\ngo 1.26.0\n\nrequire "+weave.Module+" v0.0.0\n\nreplace "+weave.Module+" => "+root+"\n")
	for name, text := range files {
		p.write(t, name, text)
	}
	return p
}

func (p *project) write(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the project and returns its output and exit status.
func (p *project) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	out, err := cmd.CombinedOutput()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs a command in the project and fails the test if the command fails.
func (p *project) must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := p.run(t, args...)
	if code != 0 {
		t.Fatalf("%q: exit status %d, want 0\n%s", args, code, out)
	}
	return out
}

// woven runs the go command through the weaver.
func (p *project) woven(t *testing.T, args ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, err := weave.Go(t.Context(), p.dir, self, args)
	if err != nil {
		t.Fatal(err)
	}
	return p.run(t, append([]string{"go"}, argv...)...)
}

func TestAWovenProgramLocks(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": shop})
	if out, code := p.woven(t, "build", "-o", "woven.bin", "."); code != 0 {
		t.Fatal(out)
	}
	if out := p.must(t, "./woven.bin"); out != wovenOutput {
		t.Errorf("got\n%s\nwant\n%s", out, wovenOutput)
	}

	t.Run("its binary contains its sites", func(t *testing.T) {
		sites, err := weave.Sites(filepath.Join(p.dir, "woven.bin"))
		want := []string{"lock example.com/shop.fall", "lock example.com/shop.now", "lock example.com/shop.pay", "once example.com/shop.order"}
		if err != nil || !slices.Equal(sites, want) {
			t.Errorf("got %q, %v; want %q", sites, err, want)
		}
	})
	t.Run("a panic has the line of the source", func(t *testing.T) {
		out, code := p.run(t, "./woven.bin", "fall")
		if code != 2 || !strings.Contains(out, filepath.Join(p.dir, "main.go")+":42") {
			t.Errorf("exit status %d, want 2 and a stack with main.go:42\n%s", code, out)
		}
	})
	t.Run("without weaving it does not start", func(t *testing.T) {
		p.must(t, "go", "build", "-o", "plain.bin", ".")
		if out, code := p.run(t, "./plain.bin"); code != 78 || !strings.Contains(out, "compiled without weaving") {
			t.Errorf("exit status %d, want 78 and an explanation\n%s", code, out)
		}
		p.env = []string{"INTERLOCK_UNWOVEN=allow"}
		defer func() { p.env = nil }()
		if out := p.must(t, "./plain.bin"); strings.Contains(out, "at a time: 1\n") || !strings.Contains(out, "orders: 1 2 <nil>\n") {
			t.Errorf("the program has locks although it was not woven:\n%s", out)
		}
	})
}

func TestCompilerErrorsHaveThePositionInTheDirective(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": `package main

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

type req struct {
	No   string
	Tags []string
}

//interlock:lock name=a key=r.Num
func a(ctx context.Context, r req) error { return nil }

//interlock:lock name=b key=r.No,r.Tags
func b(ctx context.Context, r req) error { return nil }

//interlock:lock name=c key=r.No when=r.No
func c(ctx context.Context, r req) error { return nil }

//interlock:lock name=d key=r.No on-timeout=call:e
func d(ctx context.Context, r req) error { return nil }

func e(ctx context.Context) error { return undefined }

func main() {}
`})
	out, code := p.woven(t, "build", "-gcflags=-e", ".")
	if code != 1 {
		t.Fatalf("exit status %d, want 1\n%s", code, out)
	}
	for _, want := range []string{
		"main.go:14:31: r.Num undefined",
		"main.go:17:29: []string does not satisfy woven.Part",
		"main.go:20:39: non-boolean condition",
		"main.go:23:50: ", // too many arguments
		"main.go:26:44: undefined: undefined",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

func TestScanFindsEveryMistake(t *testing.T) {
	const bad = "package %s\n\n//interlock:lock kye=1\nfunc f() {}\n"
	p := newProject(t, map[string]string{
		"main.go":            "package main\n\nfunc main() {}\n",
		"b/b.go":             fmt.Sprintf(bad, "b"),
		"a/a.go":             fmt.Sprintf(bad, "a"),
		"a/a_test.go":        fmt.Sprintf(bad, "a"),
		"a/testdata/x.go":    fmt.Sprintf(bad, "x"),
		"nested/go.mod":      "module nested\n",
		"nested/nested.go":   fmt.Sprintf(bad, "nested"),
		"unmarked/f.go":      "package unmarked\n\n//interlock:lock kind=plain on-timeout=skip\nfunc f() {}\n",
		"unmarked/f_test.go": "package unmarked\n\n//interlock:lock kind=plain on-timeout=skip\nfunc g() {}\n",
		"unmarked/on.go":     "package unmarked\n\nimport _ \"" + weave.Marker + "\"\n", // does not mark the other files
		"marked/f.go":        "package marked\n\nimport _ \"" + weave.Marker + "\"\n\n//interlock:lock kind=plain on-timeout=skip\nfunc f() {}\n",
	})
	_, err := weave.Scan(t.Context(), p.dir, nil)
	var got []string
	for line := range strings.SplitSeq(fmt.Sprint(err), "\n") {
		place, _, _ := strings.Cut(line, ": ")
		got = append(got, filepath.ToSlash(place))
	}
	want := []string{"a/a.go:3:18", "a/a_test.go:3:18", "b/b.go:3:18", "unmarked/f.go:3:1", "unmarked/f_test.go:3:1"}
	if !slices.Equal(got, want) {
		t.Errorf("got mistakes at %q, want %q\n%v", got, want, err)
	}
}

func TestOverlay(t *testing.T) {
	p := newProject(t, map[string]string{
		"main.go":  shop,
		"other.go": "package main\n",
		"own.json": `{"Replace": {"main.go": "mine.txt", "other.go": ""}}`,
		"mine.txt": strings.ReplaceAll(shop, "orders++", "orders += 7"),
	})
	overlay := func(args ...string) string {
		t.Helper()
		path, err := weave.Overlay(t.Context(), p.dir, args)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := overlay()
	if again := overlay(); again != first {
		t.Errorf("an unchanged tree has the overlays %s and %s, want one", first, again)
	}
	p.write(t, "main.go", strings.ReplaceAll(shop, "name=pay", "name=paid"))
	if changed := overlay(); changed == first {
		t.Errorf("a changed tree still has the overlay %s, want another", first)
	}
	p.write(t, "main.go", shop)
	if restored := overlay(); restored != first {
		t.Errorf("the restored tree has the overlay %s, want %s", restored, first)
	}
	merged := overlay("-overlay=own.json")
	if merged == first {
		t.Fatal("the user's overlay was not merged")
	}
	if out := p.must(t, "go", "run", "-overlay="+merged, "."); !strings.Contains(out, "at a time: 1\norders: 7 7 <nil>\n") {
		t.Errorf("got\n%s\nwant the locks, and 7 orders from the user's overlay", out)
	}
	if _, err := weave.Overlay(t.Context(), p.dir, []string{"-overlay", "none.json"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing overlay file: got %v, want ErrNotExist", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := weave.Overlay(canceled, p.dir, nil); err == nil {
		t.Error("Overlay returned no error although its context was cancelled")
	}
}

// A key is evaluated before the body. If it panics, the stack shows the line of the
// directive.
func TestAPanicInAKeyHasTheLineOfTheDirective(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": `package main

import (
	"context"

	_ "github.com/interlock-go/interlock/on"
)

//interlock:lock name=a key=*id
func a(ctx context.Context, id *string) error {
	return nil
}

func main() { _ = a(context.Background(), nil) }
`})
	out, code := p.woven(t, "run", ".")
	if code != 1 || !strings.Contains(out, filepath.Join(p.dir, "main.go")+":9 ") {
		t.Errorf("exit status %d, want 1 and a stack with main.go:9\n%s", code, out)
	}
}

func TestConcurrentBuildsGetTheSameOverlay(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": shop})
	var paths [8]string
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() {
			var err error
			if paths[i], err = weave.Overlay(t.Context(), p.dir, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, path := range paths {
		if path != paths[0] {
			t.Errorf("concurrent builds of one tree got the overlays %s and %s, want one", path, paths[0])
		}
	}
}
