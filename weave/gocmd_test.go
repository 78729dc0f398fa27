package weave_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// TestArgumentsForGo checks the arguments that interlock go passes to the go command. After
// cover-shim, -through=N means that the next N words are the user's own -toolexec command.
func TestArgumentsForGo(t *testing.T) {
	p := newProject(t, map[string]string{
		"main.go":     "package main\n\nfunc main() {}\n",
		"own.json":    `{"Replace": {}}`,
		"sub/main.go": "package main\n\nfunc main() {}\n",
	})
	for _, c := range []struct{ args, want string }{
		{"version", "version"},
		{"vet ./...", "vet ./..."},
		{"build -o x .", "build OVERLAY -o x ."},
		{"build -overlay=own.json .", "build OVERLAY ."},
		{"build --overlay own.json .", "build OVERLAY ."},
		{"build -C sub -v .", "build -C sub OVERLAY -v ."},
		{"build -C=sub .", "build -C=sub OVERLAY ."},
		{"-C sub build -v .", "-C sub build OVERLAY -v ."},
		{"--C=sub test .", "--C=sub test OVERLAY ."},
		{"-C sub version", "-C sub version"},
		{"-C sub", "-C sub"},
		{"-C", "-C"},
		{"test -cover ./...", "test OVERLAY -toolexec='/my tools/il' cover-shim -cover ./..."},
		{"test ./... -coverpkg=all -args -overlay=x", "test OVERLAY -toolexec='/my tools/il' cover-shim ./... -coverpkg=all -args -overlay=x"},
		{"test -cover -toolexec=tracer .", "test OVERLAY -toolexec='/my tools/il' cover-shim -through=1 tracer -cover ."},
		{"test -toolexec=tracer .", "test OVERLAY -toolexec=tracer ."},
		{"test -test.coverprofile=F .", "test OVERLAY -toolexec='/my tools/il' cover-shim -test.coverprofile=F ."},
		{"test -cover=0 .", "test OVERLAY -cover=0 ."},
		{"test -cover=false .", "test OVERLAY -cover=false ."},
		{"run -race -ldflags -s . -overlay=x -cover", "run OVERLAY -race -ldflags -s . -overlay=x -cover"},
		{"test -exec echo .", "test OVERLAY -exec echo ."},
		{"install -v example.com/bank@latest", "install -toolexec='/my tools/il' weave -v example.com/bank@latest"},
		{"install -toolexec=tracer -v example.com/bank@latest", "install -toolexec='/my tools/il' weave tracer -v example.com/bank@latest"},
		{"run example.com/bank@v1.0.0 -cover", "run -toolexec='/my tools/il' weave example.com/bank@v1.0.0 -cover"},
		{"run -race . you@example.com", "run OVERLAY -race . you@example.com"},
		{"install ./a@b", "install OVERLAY ./a@b"},
	} {
		got, err := weave.Go(t.Context(), p.dir, "/my tools/il", strings.Fields(c.args))
		if err != nil {
			t.Errorf("go %s: %v", c.args, err)
			continue
		}
		if i := slices.IndexFunc(got, func(a string) bool { return strings.HasSuffix(a, "overlay.json") }); i > 0 {
			got[i] = "OVERLAY"
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("go %s: got\n\t%s\nwant\n\t%s", c.args, s, c.want)
		}
	}
}

// TestArgumentsForGoFromTheEnvironment sets a -toolexec command of two words in GOFLAGS, so
// the cover-shim gets -through=2.
func TestArgumentsForGoFromTheEnvironment(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	t.Setenv("GOFLAGS", `-mod=mod -cover "-toolexec='/their tools/tracer' toolexec"`)
	got, err := weave.Go(t.Context(), p.dir, "il", []string{"test", "."})
	if err != nil || !slices.Contains(got, "-toolexec=il cover-shim -through=2 '/their tools/tracer' toolexec") {
		t.Errorf("got %q, %v; want a cover-shim that runs the tracer", got, err)
	}
}

// The flags of go env -w apply as those of the environment do.
func TestFlagsOfGoEnvApply(t *testing.T) {
	setFlags := func(t *testing.T, p *project, flags string) {
		t.Helper()
		t.Setenv("GOENV", filepath.Join(t.TempDir(), "env"))
		t.Setenv("GOFLAGS", "")
		p.must(t, "go", "env", "-w", "GOFLAGS=-mod=mod "+flags)
	}
	p := newProject(t, map[string]string{
		"main.go":      shop,
		"main_test.go": payTest,
		"own.json":     `{"Replace": {"main.go": "mine.txt"}}`,
		"mine.txt":     strings.ReplaceAll(shop, "orders++", "orders += 7"),
	})
	t.Run("an overlay is merged", func(t *testing.T) {
		setFlags(t, p, "-overlay=own.json")
		if out, code := p.woven(t, "run", "."); code != 0 || !strings.Contains(out, "at a time: 1\norders: 7 7 <nil>\n") {
			t.Errorf("exit status %d and\n%s\nwant the locks, and 7 orders from the user's overlay", code, out)
		}
	})
	t.Run("coverage counts the source", func(t *testing.T) {
		setFlags(t, p, "-cover")
		if out, code := p.woven(t, "test", "."); code != 0 || !strings.Contains(out, "coverage: ") {
			t.Errorf("exit status %d, want 0 and the coverage\n%s", code, out)
		}
	})
	t.Run("another toolexec command runs the tools", func(t *testing.T) {
		setFlags(t, p, "-cover -toolexec=tracer")
		got, err := weave.Go(t.Context(), p.dir, "il", []string{"test", "."})
		if err != nil || !slices.Contains(got, "-toolexec=il cover-shim -through=1 tracer") {
			t.Errorf("got %q, %v; want a cover-shim that runs the tracer", got, err)
		}
	})
	t.Run("the environment comes first", func(t *testing.T) {
		setFlags(t, p, "-overlay=none.json")
		t.Setenv("GOFLAGS", "-mod=mod")
		if _, err := weave.Overlay(t.Context(), p.dir, nil); err != nil {
			t.Error(err)
		}
	})
}
