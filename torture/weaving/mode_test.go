package weaving_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modes are the build modes.
var modes = []struct {
	name string
	run  func(*cell)
}{
	{"build", func(c *cell) { c.checkProgram(c.build()) }},
	{"run", (*cell).checkRun},
	{"test", func(c *cell) { c.checkTests() }},
	{"race", func(c *cell) { c.checkProgram(c.build("-race")); c.checkTests("-race") }},
	{"cover", func(c *cell) { c.checkCover("-cover") }},
	{"coverpkg", func(c *cell) { c.checkCover("-coverpkg=./...") }},
	{"vet", func(c *cell) { c.checkTests("-vet=all") }},
	{"trimpath", (*cell).checkTrimpath},
	{"overlay of the user", (*cell).checkUserOverlay},
	{"flags of go env", (*cell).checkGoEnv},
	{"toolexec of the user", (*cell).checkUserTool},
	{"directory", (*cell).checkDirectory},
}

// A cell is a project, a build mode and a way to weave.
type cell struct {
	*testing.T
	*tree
	form string
	out  string // output directory
}

// runGo runs a woven go command, which must succeed.
func (c *cell) runGo(args ...string) string {
	c.Helper()
	return c.must(c.T, goArgs(c.T, c.form, args...)...)
}

// build builds the program and returns its path.
func (c *cell) build(flags ...string) string {
	c.Helper()
	to := filepath.Join(c.out, "program")
	c.runGo(append(append([]string{"build", "-o", to}, flags...), ".")...)
	return to
}

// checkProgram checks the woven sites and the output of a program.
func (c *cell) checkProgram(path string) {
	c.Helper()
	c.wantSites(c.sites(c.T, path))
	c.wantOutput(c.must(c.T, path), c.file)
}

// wantSites checks the woven sites: those of every program, and more.
func (c *cell) wantSites(got string, more ...string) {
	c.Helper()
	want := append([]string{"lock " + c.bank + ".Move", "lock example.com/shop.visit"}, more...)
	slices.Sort(want)
	if strings.TrimSpace(got) != strings.Join(want, "\n") {
		c.Errorf("woven sites are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// wantOutput checks a program's output: the source position of the locked function, and
// that both locks refused a second call.
func (c *cell) wantOutput(output, file string) {
	c.Helper()
	if want := "in " + file + " refused true true\n"; !strings.Contains(output, want) {
		c.Errorf("the program prints\n%s\nwant\n%s", output, want)
	}
}

// checkRun runs the program with go run, and again with the verify command instead.
func (c *cell) checkRun() {
	c.wantOutput(c.runGo("run", "."), c.file)
	c.wantSites(c.runGo("run", "-exec='"+command(c.T)+"' verify", "."))
}

// checkTests runs go test, and checks the woven sites of the test binary.
func (c *cell) checkTests(flags ...string) {
	c.Helper()
	output := c.runGo(append(append([]string{"test", "-count=1", "-v"}, flags...), ".")...)
	c.wantOutput(output, c.file)
	for _, name := range []string{"TestInside", "TestBeside"} {
		if !strings.Contains(output, "--- PASS: "+name) {
			c.Errorf("%s did not pass:\n%s", name, output)
		}
	}
	to := filepath.Join(c.out, "program.test")
	c.runGo(append(append([]string{"test", "-c", "-o", to}, flags...), ".")...)
	c.wantSites(c.sites(c.T, to), "lock example.com/shop.inside", "lock example.com/shop_test.beside")
}

// checkCover runs the tests with coverage. Only statements of the source are counted, not
// the woven ones.
func (c *cell) checkCover(flag string) {
	name, _, _ := strings.Cut(filepath.Base(c.file), ":")
	covered := *c.tree
	if name != "bank.go" { // with coverage, a file name from //line is not made absolute
		covered.file = filepath.Base(c.file)
	}
	if flag != "-cover" { // -cover covers the program's package only
		c.tree = &covered
	}
	profile := filepath.Join(c.out, "profile")
	c.checkTests(flag, "-coverprofile="+profile)
	text, err := os.ReadFile(profile)
	if err != nil {
		c.Fatal(err)
	}
	want := []string{
		"example.com/shop/main.go:14.69,14.86 1 1", // the body of visit ran once
		"example.com/shop/main.go:16.20,18.56 2 1",
	}
	if c.main && flag != "-cover" {
		want = append(want, "example.com/shop/bank/"+name+":")
	}
	for _, w := range want {
		if !strings.Contains(string(text), "\n"+w) {
			c.Errorf("the profile lacks %s\n%s", w, text)
		}
	}
	c.tree = &covered
	c.checkProgram(c.build(flag))
}

// checkTrimpath checks that the program contains no directory of this machine.
func (c *cell) checkTrimpath() {
	path := c.build("-trimpath")
	c.wantSites(c.sites(c.T, path))
	output := c.must(c.T, path)
	c.wantOutput(output, output[len("in "):max(len("in "), strings.Index(output, " refused"))])
	if !strings.HasPrefix(output, "in example.com/") || !strings.Contains(output, "/"+filepath.Base(c.file)+" ") {
		c.Errorf("the source position is not trimmed: %s", output)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		c.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(c.dir), shared.dir} {
		if i := strings.Index(string(text), dir); i >= 0 {
			c.Errorf("the program contains the path %q", text[i:min(i+100, len(text))])
		}
	}
}

// overlaid is the word of the program in the user's overlay, instead of "refused".
const overlaid = "replaced"

// userOverlay writes an overlay that replaces a file of the program, and returns its path.
func (c *cell) userOverlay() string {
	c.Helper()
	file := filepath.Join(c.dir, "main.go")
	text, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: filepath.Join(c.out, "mine.go")}})
	if err != nil {
		c.Fatal(err)
	}
	workDir{dir: c.out}.write(c.T, map[string]string{
		"mine.go":  strings.Replace(string(text), "refused", overlaid, 1),
		"own.json": string(list),
	})
	return filepath.Join(c.out, "own.json")
}

// checkOverlaid checks that a program contains the user's overlay and the locks.
func (c *cell) checkOverlaid(path string) {
	c.Helper()
	c.wantSites(c.sites(c.T, path))
	if output := c.must(c.T, path); !strings.Contains(output, overlaid+" true true\n") {
		c.Errorf("the program prints\n%s\nwant %q from the user's overlay", output, overlaid)
	}
}

// checkUserOverlay builds with an overlay of the user.
func (c *cell) checkUserOverlay() { c.checkOverlaid(c.build("-overlay=" + c.userOverlay())) }

// checkGoEnv builds with an overlay that the user has set by go env -w.
func (c *cell) checkGoEnv() {
	set := *c.tree
	set.env = append(slices.Clone(set.env), "GOENV="+filepath.Join(c.out, "env"), "GOFLAGS=")
	c.tree = &set
	c.must(c.T, "go", "env", "-w", "GOFLAGS=-modcacherw -overlay="+c.userOverlay())
	c.checkOverlaid(c.build())
}

// checkUserTool builds with another -toolexec command.
func (c *cell) checkUserTool() {
	tool := "env"
	if c.form == toolexec {
		tool = "'" + command(c.T) + "' weave env"
	}
	c.checkProgram(c.build("-toolexec=" + tool))
}

// checkDirectory builds from another directory, with -C before the command.
func (c *cell) checkDirectory() {
	to := filepath.Join(c.out, "program")
	args := goArgs(c.T, c.form, "build", "-o", to, ".")
	outside := workDir{filepath.Dir(c.dir), c.env}
	outside.must(c.T, slices.Insert(args, slices.Index(args, "build"), "-C", c.dir)...)
	c.checkProgram(to)
}
