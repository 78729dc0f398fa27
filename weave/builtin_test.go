package weave_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// builtins is a program that declares predeclared names itself.
const builtins = `package main

import (
	"context"
	"fmt"

	_ "github.com/interlock-go/interlock/on"
)

type pair[A, B comparable] struct {
	a A
	b B
}

//interlock:lock name=nil key=nil kind=plain on-timeout=skip
func named(nil string) (n int) { return len(nil) }

//interlock:lock name=own key=id kind=plain on-timeout=skip
func own(id string) error { return error(id) }

//interlock:once name=own key=id on-duplicate=skip
func ownOnce(_ context.Context, id string) (string, error) { return id, error(id) }

//interlock:lock name=parameter key=id kind=plain on-timeout=skip
func parameter[error any](id string, x error) error { return x }

//interlock:lock name=when key=id kind=plain on-timeout=skip when=(pair[int,int]{}==pair[int,int]{})
func when(id string) int { return 1 }

func main() {
	_, err := ownOnce(context.Background(), "c")
	fmt.Println(named("a"), own("b"), err, parameter("d", 2), when("e"))
}
`

func TestAProgramMayDeclarePredeclaredNames(t *testing.T) {
	const want = "1 b c 2 1\n"
	p := newProject(t, map[string]string{"main.go": builtins, "error.go": "package main\n\ntype error string\n"})
	if out, code := p.woven(t, "run", "."); code != 0 || out != want {
		t.Errorf("by an overlay: exit status %d and %q, want %q", code, out, want)
	}
	t.Run("with toolexec", func(t *testing.T) {
		if testing.Short() {
			t.Skip("compiles the standard library: make verify runs it")
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if out := p.must(t, "go", "run", "-toolexec="+self+" weave", "."); out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	})
	t.Run("ejected", func(t *testing.T) {
		file := filepath.Join(p.dir, "main.go")
		text, err := weave.Eject(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if out := p.must(t, "go", "run", "."); out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	})
}

// The cover tool names the source with its directory at the top of its output. Woven text
// names the directory no more often, so that its columns do not depend on the directory.
func TestTextAfterCoverNamesTheSourceOnce(t *testing.T) {
	for _, dir := range []string{"/a", "/another/longer/directory"} {
		text := "//line " + dir + "/main.go:1:1\n" + shop
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/tmp/b001/main.cover.go", Text: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(w.Text), dir+"/main.go"); n != 2 { // one by cover, and one by the weaver
			t.Errorf("%s occurs %d times, want 2:\n%s", dir, n, w.Text)
		}
	}
}

// A line directive may name another file, or have no column. Woven text then names the file
// each time.
func TestTextWithLineDirectivesNamesItsFiles(t *testing.T) {
	for name, text := range map[string]string{
		"at the top without a column":  "//line /a/main.y:1\n" + shop,
		"once above a directive":       strings.Replace(shop, "//interlock:lock name=fall", "//line /a/main.y:50\n//interlock:lock name=fall", 1),
		"within a line of the program": strings.Replace(shop, "var orders int", "/*line /a/main.y:50:5*/ var orders int", 1),
	} {
		w, err := weave.File(weave.Source{Package: "example.com/shop", Path: "/src/main.go", Text: []byte(text), MarkerOptional: true})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := strings.Count(string(w.Text), "/*line :"); n > 0 {
			t.Errorf("%s: %d line directives have no file, want none:\n%s", name, n, w.Text)
		}
	}
}
