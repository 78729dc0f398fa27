package weave_test

import (
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
