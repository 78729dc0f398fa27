// Repocheck checks that the pages of the repository match its code.
//
//	go run ./internal/tools/repocheck [CHECK] [-fix] [-v] [PATH…]
//
// Without a CHECK it runs all of them. Each check prints its errors and a summary of one
// line; any error makes the exit status 1. With -fix it runs only the checks that compare a
// page with its sources, and rewrites the page. With -v it also prints every place that it
// counted below the given paths.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// A tree is the repository, and the options of the command line.
type tree struct {
	fs.FS
	root    string
	files   []string // slash-separated, relative to root, sorted
	fix     bool
	verbose bool
	paths   []string // print places below these only; empty for all
}

// A check returns a summary of one line, and one line for each problem. The error means
// that the check could not finish.
type check struct {
	name  string
	fixes bool // whether it can rewrite a page
	run   func(tree) (summary string, wrong []string, err error)
}

var checks = []check{
	{"links", false, links},
	{"snippets", true, snippets},
	{"requirements", true, requirements},
	{"traps", false, traps},
	{"graph", true, graph},
	{"mentions", false, mentions},
	{"prose", false, prose},
}

func main() {
	name, args := "", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	var t tree
	flag.BoolVar(&t.fix, "fix", false, "rewrite the pages that are copied from other files")
	flag.BoolVar(&t.verbose, "v", false, "print every place that was counted")
	_ = flag.CommandLine.Parse(args) // exits on an error
	t.paths = flag.Args()
	ok, err := run(name, t)
	if err != nil {
		fmt.Fprintln(os.Stderr, "repocheck:", err)
	}
	if !ok {
		os.Exit(1)
	}
}

// run runs the check with this name, or all checks if name is empty.
func run(name string, t tree) (ok bool, err error) {
	if t.root, t.files, err = repo.Here(); err != nil {
		return false, err
	}
	t.FS = os.DirFS(t.root)
	chosen := slices.DeleteFunc(slices.Clone(checks), func(c check) bool {
		return name != "" && c.name != name || t.fix && !c.fixes
	})
	if len(chosen) == 0 {
		return false, fmt.Errorf("there is no check %q, or it has no -fix", name)
	}
	ok = true
	for _, c := range chosen {
		summary, wrong, err := c.run(t)
		if err != nil {
			return false, fmt.Errorf("%s: %w", c.name, err)
		}
		for _, line := range wrong {
			fmt.Println(line)
		}
		fmt.Printf("%s: %s\n", c.name, summary)
		ok = ok && len(wrong) == 0
	}
	return ok, nil
}

// read returns the text of a file.
func (t tree) read(name string) (string, error) {
	text, err := fs.ReadFile(t.FS, name)
	return string(text), err
}

// write replaces a file.
func (t tree) write(name, text string) error {
	return os.WriteFile(filepath.Join(t.root, filepath.FromSlash(name)), []byte(text), 0o644)
}
