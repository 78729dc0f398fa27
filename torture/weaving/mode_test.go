package weaving_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modes are the ways to build.
var modes = []struct {
	name string
	run  func(*cell)
}{
	{"build", func(c *cell) { c.program(c.build()) }},
	{"run", (*cell).runs},
	{"test", func(c *cell) { c.tests() }},
	{"race", func(c *cell) { c.program(c.build("-race")); c.tests("-race") }},
	{"cover", func(c *cell) { c.covers("-cover") }},
	{"coverpkg", func(c *cell) { c.covers("-coverpkg=./...") }},
	{"vet", func(c *cell) { c.tests("-vet=all") }},
	{"trimpath", (*cell).trimmed},
}

// A cell is a tree, built in one way and woven in one.
type cell struct {
	*testing.T
	*tree
	form string
	out  string // a directory for what is made
}

// woven runs a go command that has to succeed.
func (c *cell) woven(args ...string) string {
	c.Helper()
	return c.must(c.T, goArgs(c.T, c.form, args...)...)
}

// build builds the program and returns where it is.
func (c *cell) build(flags ...string) string {
	c.Helper()
	to := filepath.Join(c.out, "program")
	c.woven(append(append([]string{"build", "-o", to}, flags...), ".")...)
	return to
}

// program checks what is in a program and what it does.
func (c *cell) program(path string) {
	c.Helper()
	c.has(c.sites(c.T, path))
	c.saw(c.must(c.T, path), c.file)
}

// has checks what the command says is woven in, besides what is always.
func (c *cell) has(got string, more ...string) {
	c.Helper()
	want := append([]string{"lock " + c.bank + ".Move", "lock example.com/shop.visit"}, more...)
	slices.Sort(want)
	if strings.TrimSpace(got) != strings.Join(want, "\n") {
		c.Errorf("woven in is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// saw checks what a program says: that it came in, where that is in the source,
// and that it did not come in twice.
func (c *cell) saw(said, file string) {
	c.Helper()
	if want := "in " + file + " refused true true\n"; !strings.Contains(said, want) {
		c.Errorf("it says\n%s\nwant\n%s", said, want)
	}
}

// runs has the program run by the go command, and looked at in place of that.
func (c *cell) runs() {
	c.saw(c.woven("run", "."), c.file)
	c.has(c.woven("run", "-exec='"+command(c.T)+"' verify", "."))
}

// tests has the go command run the tests, and looks at their program.
func (c *cell) tests(flags ...string) {
	c.Helper()
	said := c.woven(append(append([]string{"test", "-count=1", "-v"}, flags...), ".")...)
	c.saw(said, c.file)
	for _, name := range []string{"TestInside", "TestBeside"} {
		if !strings.Contains(said, "--- PASS: "+name) {
			c.Errorf("%s did not pass:\n%s", name, said)
		}
	}
	to := filepath.Join(c.out, "program.test")
	c.woven(append(append([]string{"test", "-c", "-o", to}, flags...), ".")...)
	c.has(c.sites(c.T, to), "lock example.com/shop.inside", "lock example.com/shop_test.beside")
}

// covers tests with coverage. The statements that are counted are those of the
// source: nothing of what was woven in is among them.
func (c *cell) covers(flag string) {
	name, _, _ := strings.Cut(filepath.Base(c.file), ":")
	covered := *c.tree
	if name != "bank.go" { // covered, a name from //line stays as it is written, woven or not
		covered.file = filepath.Base(c.file)
	}
	if flag != "-cover" { // which is about the program's package only
		c.tree = &covered
	}
	profile := filepath.Join(c.out, "profile")
	c.tests(flag, "-coverprofile="+profile)
	text, err := os.ReadFile(profile)
	if err != nil {
		c.Fatal(err)
	}
	want := []string{
		"example.com/shop/main.go:14.69,14.86 1 1", // visit came to its body once
		"example.com/shop/main.go:16.20,18.56 2 1",
	}
	if c.main && flag != "-cover" {
		want = append(want, "example.com/shop/bank/"+name+":")
	}
	for _, w := range want {
		if !strings.Contains(string(text), "\n"+w) {
			c.Errorf("no %s in the profile\n%s", w, text)
		}
	}
	c.tree = &covered
	c.program(c.build(flag))
}

// trimmed checks that no directory of this machine is in the program.
func (c *cell) trimmed() {
	path := c.build("-trimpath")
	c.has(c.sites(c.T, path))
	said := c.must(c.T, path)
	c.saw(said, said[len("in "):max(len("in "), strings.Index(said, " refused"))])
	if !strings.HasPrefix(said, "in example.com/") || !strings.Contains(said, "/"+filepath.Base(c.file)+" ") {
		c.Errorf("it is %s", said)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		c.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(c.dir), bench.dir} {
		if i := strings.Index(string(text), dir); i >= 0 {
			c.Errorf("%q is in the program", text[i:min(i+100, len(text))])
		}
	}
}
