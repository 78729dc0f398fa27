// Package repo lists the files and modules of this repository, for its checks.
package repo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Path is the module path of the root. The paths of all other modules begin with it.
const Path = "github.com/interlock-go/interlock"

// Here returns the directory of the repository that the process runs in, and its files,
// committed or not, without files that git ignores. Their names are slash-separated,
// relative to root and sorted.
func Here() (root string, files []string, err error) {
	root, err = top()
	if err != nil {
		return "", nil, err
	}
	files, err = list(root)
	return root, files, err
}

func top() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("repo: no go.work in this directory or above it")
		}
		dir = parent
	}
}

func list(root string) ([]string, error) {
	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	out, err := git.Output()
	if err != nil {
		return nil, fmt.Errorf("repo: git ls-files: %w", err)
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err != nil || !info.Mode().IsRegular() // deleted, but not yet committed
	}), nil
}

// A Module is one of the Go modules in the repository.
type Module struct {
	Path string // as in its go.mod
	Dir  string // slash-separated, relative to the root; "." for the root itself
}

// Modules finds the modules among files, the root first. It omits modules in testdata
// directories, which are input of tests.
func Modules(files []string) []Module {
	var ms []Module
	for _, name := range files {
		dir := path.Dir(name)
		if path.Base(name) != "go.mod" || slices.Contains(strings.Split(dir, "/"), "testdata") {
			continue
		}
		ms = append(ms, Module{Path: path.Join(Path, dir), Dir: dir})
	}
	slices.SortFunc(ms, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return ms
}

// Home returns the module that a file belongs to, which is the innermost one.
func Home(ms []Module, file string) Module {
	var home Module
	for _, m := range ms {
		inside := m.Dir == "." || strings.HasPrefix(file, m.Dir+"/")
		if inside && len(m.Path) > len(home.Path) {
			home = m
		}
	}
	return home
}
