package weave_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

// unmarked is the file bank without the marker and the line above it.
var unmarked = strings.Replace(bank, "\n\t_ \""+weave.Marker+"\"\n", "", 1)

// A file may be compiled without the other files of its package. So each unwoven file must
// stop the program by itself.
func TestEachFileStopsAProgramThatIsNotWoven(t *testing.T) {
	const text = "package main\n\nimport (%s\n\t_ %q\n)\n\n//interlock:lock kind=plain on-timeout=skip\nfunc %s {}\n"
	p := newProject(t, map[string]string{
		"on.go":     "package main\n\nimport _ \"" + weave.Marker + "\"\n",
		"b.go":      fmt.Sprintf(text, "", weave.Marker, "main()"),
		"b_test.go": fmt.Sprintf(text, "\n\t\"testing\"", weave.Marker, "TestNothing(*testing.T)"),
	})
	stale, err := weave.Overlay(t.Context(), p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "new.go", fmt.Sprintf(text, "", weave.Marker, "later()"))
	for name, args := range map[string]string{
		"a file by its name":                   "build b.go",
		"a test by its name":                   "test -c b_test.go",
		"a file that is newer than an overlay": "build -overlay=" + stale + " .",
	} {
		t.Run(name, func(t *testing.T) {
			command, rest, _ := strings.Cut(args, " ")
			p.must(t, append([]string{"go", command, "-o", "plain.bin"}, strings.Fields(rest)...)...)
			if out, code := p.run(t, "./plain.bin"); code != 78 || !strings.Contains(out, "compiled without weaving") {
				t.Errorf("exit status %d, want 78 and an explanation\n%s", code, out)
			}
		})
	}
	t.Run("a woven program starts", func(t *testing.T) {
		for _, args := range []string{"run b.go", "test b_test.go", "run ."} {
			if out, code := p.woven(t, strings.Fields(args)...); code != 0 {
				t.Errorf("%s: exit status %d, want 0\n%s", args, code, out)
			}
		}
	})
}
