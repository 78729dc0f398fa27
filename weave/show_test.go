package weave_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/weave"
)

func TestShow(t *testing.T) {
	p := newProject(t, map[string]string{"pay/pay.go": shop, "none.go": "package none\n"})
	text, err := weave.Show(filepath.Join(p.dir, "pay/pay.go"))
	if err != nil || !strings.Contains(string(text), "ilsite/1{lock example.com/shop/pay.pay}") {
		t.Errorf("got %v, want the site of example.com/shop/pay.pay in\n%s", err, text)
	}
	text, err = weave.Show(filepath.Join(p.dir, "none.go"))
	if err != nil || string(text) != "package none\n" {
		t.Errorf("a file without directives: got %q, %v; want the file unchanged", text, err)
	}
	if _, err := weave.Show("none.go"); err == nil {
		t.Error("Show of a missing file returned no error")
	}
}

func TestAnEjectedFileNeedsNoWeaving(t *testing.T) {
	p := newProject(t, map[string]string{"main.go": shop})
	file := filepath.Join(p.dir, "main.go")
	text, err := weave.Eject(file)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/ejected.txt", text)
	if strings.Contains(string(text), weave.Marker+`"`) || strings.Contains(string(text), "/*line") {
		t.Errorf("the ejected file contains the marker or a line directive:\n%s", text)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := p.must(t, "go", "run", "."); out != wovenOutput {
		t.Errorf("got\n%s\nwant\n%s", out, wovenOutput)
	}
}

// A marker in an ejected file would stop the program.
func TestAnEjectedFileHasNoMarker(t *testing.T) {
	p := newProject(t, map[string]string{
		"on.go":     "package shop\n\nimport _ \"" + weave.Marker + "\"\n",
		"quoted.go": "package shop\n\nimport _ `" + weave.Marker + "`\n\n//interlock:lock kind=plain on-timeout=skip\nfunc f() {}\n",
	})
	for name, want := range map[string]string{
		"on.go":     "import _ \"" + weave.Runtime + "\"\n",
		"quoted.go": "import _il \"" + weave.Runtime + "\"\n",
	} {
		text, err := weave.Eject(filepath.Join(p.dir, name))
		if err != nil || strings.Contains(string(text), weave.Marker) || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %v, want %q instead of the marker in\n%s", name, err, want, text)
		}
	}
}
