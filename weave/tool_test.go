package weave_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

const payTest = `package main

import (
	"context"
	"sync"
	"testing"
)

func TestPay(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _ = pay(context.Background(), "a") })
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d goroutines were in pay at once, want 1", most.Load())
	}
}
`

func TestTheCoverageProfileMatchesTheSource(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": shop, "main_test.go": payTest})
	if out, code := p.woven(t, "test", "-coverprofile=woven.out", "."); code != 0 {
		t.Fatalf("exit status %d, want 0\n%s", code, out)
	}
	p.env = []string{"INTERLOCK_UNWOVEN=allow"}
	p.run(t, "go", "test", "-coverprofile=plain.out", ".") // the test fails without the lock
	if woven, plain := p.blocks(t, "woven.out"), p.blocks(t, "plain.out"); woven != plain {
		t.Errorf("the woven program has the blocks\n%s\nthe unwoven program has\n%s", woven, plain)
	}

	t.Run("coverage with an overlay alone fails instead of losing the locks", func(t *testing.T) {
		p.env = nil
		overlay, err := weave.Overlay(t.Context(), p.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, code := p.run(t, "go", "test", "-cover", "-overlay="+overlay, "."); code == 0 {
			t.Errorf("exit status 0, want a failure\n%s", out)
		}
	})
}

// tracer is another -toolexec command. It logs each tool and runs it.
func tracer(log string, args []string) error {
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	fmt.Fprintln(file, filepath.Base(args[0]), args[len(args)-1] != "-V=full")
	if err := file.Close(); err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func TestCoverageRunsThroughAnotherToolexecCommand(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": shop, "main_test.go": payTest})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(p.dir, "their log")
	if out, code := p.woven(t, "test", "-coverprofile=woven.out", "-toolexec="+self+" tracer '"+log+"'", "."); code != 0 {
		t.Fatalf("exit status %d, want 0\n%s", code, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, ran := range []string{"cover true\n", "compile true\n", "link true\n"} {
		if !strings.Contains(string(text), ran) {
			t.Errorf("the log of the tracer lacks %q:\n%s", ran, text)
		}
	}
	for _, args := range [][]string{{"-through=1", "tracer"}, {"-through=x", "cover"}, {"-through=-1", "cover"}} {
		if err := weave.CoverShim(args); err == nil || !strings.Contains(err.Error(), "no tool") {
			t.Errorf("%q: got %v, want an error about the missing tool", args, err)
		}
	}
}

// The go command calls the weaver with the words of the other command before the tool.
func TestToolexecWeavesThroughAnotherToolexecCommand(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": shop})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	compiler := strings.TrimSpace(p.must(t, "go", "tool", "-n", "compile"))
	var export []string
	for line := range strings.Lines(p.must(t, "go", "list", "-deps", "-export", "-f", "packagefile {{.ImportPath}}={{.Export}}", ".")) {
		if !strings.HasSuffix(line, "=\n") && !strings.HasPrefix(line, "packagefile example.com/shop=") {
			export = append(export, line)
		}
	}
	p.write(t, "importcfg", strings.Join(export, ""))
	for _, c := range []struct {
		name    string
		command []string
	}{
		{"alone", nil},
		{"with another command", []string{self, "tracer", filepath.Join(p.dir, "their log")}},
		{"with another command that has flags of the compiler", []string{"env", "-u", "-o", "X=-p"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := filepath.Join(t.TempDir(), "out.a")
			p.env = []string{"TOOLEXEC_IMPORTPATH=example.com/shop"}
			argv := append([]string{self, "weave"}, c.command...)
			p.must(t, append(argv, compiler, "-o", object, "-p", "main", "-importcfg", "importcfg", "-pack", "./main.go")...)
			if sites, err := weave.Sites(object); err != nil || len(sites) != 4 {
				t.Errorf("got the sites %q, %v; want 4", sites, err)
			}
			if out := p.must(t, append(argv, compiler, "-V=full")...); !strings.Contains(out, "interlock=") {
				t.Errorf("the version of the compiler is %q, want the id of the weaver in it", out)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "their log")); err != nil || string(text) != "compile true\ncompile false\n" {
		t.Errorf("the log of the tracer is %q, %v; want the compiler and its version", text, err)
	}
}

// blocks returns the positions in a coverage profile, without the counts.
func (p *project) blocks(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		place, _, _ := strings.Cut(line, " ")
		b.WriteString(place + "\n")
	}
	return b.String()
}

func TestToolexecWeavesAProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library: make verify runs it")
	}
	p := newProject(t, map[string]string{"main.go": shop, "main_test.go": payTest})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out := p.must(t, "go", "run", "-toolexec="+self+" weave", "."); out != wovenOutput {
		t.Errorf("got\n%s\nwant\n%s", out, wovenOutput)
	}
	p.must(t, "go", "test", "-toolexec="+self+" weave", ".")

	t.Run("with an overlay as well", func(t *testing.T) { // a build inherits the GOFLAGS of an editor
		t.Setenv("GOFLAGS", "-mod=mod '-toolexec="+self+" weave'")
		for _, args := range [][]string{{"test", "."}, {"test", "-cover", "."}} {
			if out, code := p.woven(t, args...); code != 0 {
				t.Errorf("%q: exit status %d, want 0\n%s", args, code, out)
			}
		}
	})

	t.Run("it asks for a missing marker", func(t *testing.T) {
		p.write(t, "sub/sub.go", "package sub\n\n//interlock:lock kind=plain on-timeout=skip\nfunc F() {}\n")
		out, code := p.run(t, "go", "build", "-toolexec="+self+" weave", "./sub")
		if code == 0 || !strings.Contains(out, "sub.go:3:1: ") || !strings.Contains(out, "add import _ \""+weave.Marker+"\"") {
			t.Errorf("exit status %d, want a failure that asks for the import\n%s", code, out)
		}
	})
	t.Run("it reports mistakes", func(t *testing.T) {
		p.write(t, "sub/sub.go", "package sub\n\n//interlock:lock kye=1\nfunc F() {}\n")
		out, code := p.run(t, "go", "build", "-toolexec="+self+" weave", "./sub")
		if code == 0 || !strings.Contains(out, "sub.go:3:18: ") {
			t.Errorf("exit status %d, want a failure at sub.go:3:18\n%s", code, out)
		}
	})
}

// The go command identifies a tool of a release by the whole line, and any other tool by
// the part after the last slash.
func TestTheStampChangesTheToolID(t *testing.T) {
	if got := weave.Stamped("compile version go1.26.8", "abc"); got != "compile version go1.26.8 interlock=abc" {
		t.Errorf("a release: got %q, want the id at the end", got)
	}
	const devel = "compile version devel go1.27-1234 Mon buildID=a/b"
	one, two := weave.Stamped(devel, "abc"), weave.Stamped(devel, "abd")
	if !strings.HasPrefix(one, devel+"/") || one[strings.LastIndexByte(one, '/'):] == two[strings.LastIndexByte(two, '/'):] {
		t.Errorf("a development version: got %q and %q, want different texts after the last slash", one, two)
	}
	if err := weave.Toolexec(nil); err == nil {
		t.Error("Toolexec without a tool returned no error")
	}
	if err := weave.CoverShim(nil); err == nil {
		t.Error("CoverShim without a tool returned no error")
	}
}
