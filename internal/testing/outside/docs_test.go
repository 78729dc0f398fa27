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

// page returns the text of a page in docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A block is a code block of a page.
type block struct{ lang, text string }

// blocks returns the code blocks of a page, in order.
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

// A line is a command in a page. A comment behind the command may say "prints: " and a
// text, which the output must contain. If the text begins with "exit status", the command
// must fail.
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

// files returns the Go blocks that begin with the name of a file.
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

// requiredCommands lists the commands that the page must show, without their arguments.
var requiredCommands = []string{
	"go mod init ", "go get -tool ", "go tool interlock go run ", "go tool interlock go test ", "go tool interlock go build ",
	"go tool interlock verify ", "go tool interlock lint", "go vet -vettool=", "go run .", "go test -toolexec=", "go build -overlay=", "export GOFLAGS=",
}

// TestDirectives (requirement T5) follows docs/directives.md to the letter, in an empty
// directory: it writes the files and runs the commands in order.
func TestDirectives(t *testing.T) {
	all := blocks(page(t, "directives.md"))
	for _, p := range requiredCommands {
		if !slices.ContainsFunc(lines(all), func(l line) bool { return strings.HasPrefix(l.command, p) }) {
			t.Errorf("docs/directives.md does not show %q in a block of sh: put it back, or change requiredCommands", p)
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

// A follower runs the commands of a page in a directory.
type follower struct {
	*user
	dir     string
	exports string // export lines so far
}

func (f *follower) follow(t *testing.T, l line) {
	t.Helper()
	if strings.HasPrefix(l.command, "export ") {
		f.exports += l.command + "\n"
		f.install(t) // the page assumes an installed tool
		return
	}
	begin := time.Now()
	out, code := f.shell(t, f.exports+l.command)
	if fails := strings.HasPrefix(l.prints, "exit status "); (code != 0) != fails || !strings.Contains(out, l.prints) {
		t.Fatalf("%s\nexits with %d and prints\n%s\nwant %q", l.command, code, out, l.prints)
	}
	t.Logf("%s: as documented, in %.1f s", l.command, time.Since(begin).Seconds())
}

// TestDirectivesAreTheSameInChinese checks that the Chinese page shows the same
// commands and files, which TestDirectives has tried.
func TestDirectivesAreTheSameInChinese(t *testing.T) {
	en, zh := blocks(page(t, "directives.md")), blocks(page(t, "directives.zh-CN.md"))
	if a, b := lines(en), lines(zh); !slices.Equal(a, b) {
		t.Errorf("the commands are\n%q, in Chinese\n%q", a, b)
	}
	chinese := files(zh)
	for name, text := range files(en) {
		if chinese[name] != text {
			t.Errorf("%s differs in Chinese:\n%s", name, chinese[name])
		}
	}
}

// install puts the project's tool into the PATH. It links the file that go tool runs:
// another file would make the go command compile the standard library again.
func (f *follower) install(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	tool := strings.TrimSpace(f.run(t, f.dir, "go", "tool", "-n", "interlock"))
	if err := os.Symlink(tool, filepath.Join(bin, "interlock")); err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// shell runs a line in bash and returns its output and exit status.
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
