package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// page is the text of one in docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A block is a piece of code in a page.
type block struct{ lang, text string }

// blocks are the fenced pieces of a page, in order.
func blocks(text string) (all []block) {
	open := false
	for line := range strings.Lines(text) {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			all = append(all, block{lang: strings.TrimSpace(lang)})
			open = true
		case fence:
			open = false
		case open:
			all[len(all)-1].text += line
		}
	}
	return all
}

// A line is a command of the docs. What the remark behind it says that it
// prints, it prints; if that is an exit status, it fails.
type line struct{ command, prints string }

func lines(all []block) (list []line) {
	for _, b := range all {
		if b.lang != "sh" {
			continue
		}
		for text := range strings.Lines(b.text) {
			command, remark, _ := strings.Cut(strings.TrimSpace(text), " # ")
			_, prints, _ := strings.Cut(remark, "prints: ")
			list = append(list, line{strings.TrimSpace(command), prints})
		}
	}
	return list
}

// files are the blocks of Go that begin with the name of a file.
func files(all []block) map[string]string {
	found := map[string]string{}
	for _, b := range all {
		first, rest, _ := strings.Cut(b.text, "\n")
		if name, ok := strings.CutPrefix(first, "// "); ok && b.lang == "go" && strings.HasSuffix(name, ".go") {
			found[name] = rest
		}
	}
	return found
}

// proved are the beginnings of commands that the docs have to have: what follows
// them is the docs' own.
var proved = []string{
	"go mod init ", "go get -tool ", "go tool interlock go run ", "go tool interlock go test ", "go tool interlock go build ",
	"go tool interlock verify ", "go tool interlock lint", "go vet -vettool=", "go run .", "go test -toolexec=", "go build -overlay=", "export GOFLAGS=",
}

// TestDirectives (T5) follows docs/directives.md to the letter, in an empty
// directory: its files are written, its commands are run in their order.
func TestDirectives(t *testing.T) {
	all := blocks(page(t, "directives.md"))
	for _, p := range proved {
		if !slices.ContainsFunc(lines(all), func(l line) bool { return strings.HasPrefix(l.command, p) }) {
			t.Errorf("docs/directives.md does not show %q in a block of sh: put it back, or change what is proved", p)
		}
	}
	f := follower{user: newUser(t), dir: t.TempDir()}
	f.env = append(f.env, "GOFLAGS=-modcacherw", "LC_ALL=C", "XDG_CACHE_HOME="+t.TempDir())
	for _, b := range all {
		for name, text := range files([]block{b}) {
			if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range lines([]block{b}) {
			f.follow(t, l)
		}
	}
}

// A follower does what a page says, in a directory.
type follower struct {
	*user
	dir     string
	exports string // of the lines so far
}

func (f *follower) follow(t *testing.T, l line) {
	t.Helper()
	if strings.HasPrefix(l.command, "export ") {
		f.exports += l.command + "\n"
		f.installed(t) // the docs say so
		return
	}
	begin := time.Now()
	out, code := f.shell(t, f.exports+l.command)
	if fails := strings.HasPrefix(l.prints, "exit status "); (code != 0) != fails || !strings.Contains(out, l.prints) {
		t.Fatalf("%s\nexits with %d and prints\n%s\nwant %q", l.command, code, out, l.prints)
	}
	t.Logf("%s: as the docs say, in %.1f s", l.command, time.Since(begin).Seconds())
}

// TestDirectivesAreTheSameInChinese checks that who reads the other page does
// what was proved.
func TestDirectivesAreTheSameInChinese(t *testing.T) {
	en, zh := blocks(page(t, "directives.md")), blocks(page(t, "directives.zh-CN.md"))
	if a, b := lines(en), lines(zh); !slices.Equal(a, b) {
		t.Errorf("the commands are\n%q, in Chinese\n%q", a, b)
	}
	other := files(zh)
	for name, text := range files(en) {
		if other[name] != text {
			t.Errorf("%s is another in Chinese:\n%s", name, other[name])
		}
	}
}

// installed puts the project's tool into the PATH. It is the very file that
// go tool runs, lest the standard library be compiled for another one.
func (f *follower) installed(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	tool := strings.TrimSpace(f.run(t, f.dir, "go", "tool", "-n", "interlock"))
	if err := os.Symlink(tool, filepath.Join(bin, "interlock")); err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// shell runs a line as a person types it, and returns all that it prints.
func (f *follower) shell(t *testing.T, script string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), f.env...)
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
