package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/tools/archtest"
	"github.com/interlock-go/interlock/internal/tools/repo"
)

// TestImports checks all packages of all modules.
func TestImports(t *testing.T) {
	root, modules := repository(t)
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Imports,TestImports,XTestImports"}
	for _, m := range modules {
		args = append(args, "./"+m.Dir+"/...")
	}
	out := command(t, root, args...)
	var pkgs []archtest.Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p archtest.Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	for _, path := range []string{repo.Path, repo.Path + "/engine"} {
		if !slices.ContainsFunc(pkgs, func(p archtest.Package) bool { return p.ImportPath == path }) {
			t.Fatalf("go list does not list %s", path)
		}
	}
	for _, line := range archtest.Check(pkgs) {
		t.Error(line)
	}
}

// A modFile is a go.mod or a go.work file as the go command prints it.
type modFile struct {
	Require []requirement
	Replace []replace
	Use     []struct{ DiskPath string }
}

type requirement struct {
	Path     string
	Indirect bool
}

type replace struct {
	Old, New struct{ Path, Version string }
}

// TestModules checks the requirements and replacements of all module files.
func TestModules(t *testing.T) {
	root, modules := repository(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	reasons, major := string(text), regexp.MustCompile(`/v[0-9]+$`)
	for _, m := range modules {
		file := readModFile(t, root, "mod", filepath.Join(root, m.Dir, "go.mod"))
		if len(file.Replace) > 0 {
			t.Errorf("%s/go.mod has a replace line, which breaks go install …@version", m.Dir)
		}
		if m.Dir == "." && len(file.Require) > 0 {
			t.Errorf("the root module requires %v, want no dependencies", file.Require)
		}
		for _, r := range file.Require {
			if !r.Indirect && !strings.HasPrefix(r.Path, repo.Path) && !strings.Contains(reasons, "https://"+major.ReplaceAllString(r.Path, "")) {
				t.Errorf("%s/go.mod requires %s, which docs/dependencies.md does not explain", m.Dir, r.Path)
			}
		}
	}

	work := readModFile(t, root, "work", filepath.Join(root, "go.work"))
	for _, m := range modules {
		used, replaced := false, false
		for _, u := range work.Use {
			used = used || filepath.Clean(u.DiskPath) == m.Dir
		}
		for _, r := range work.Replace {
			replaced = replaced || r.Old.Path == m.Path && r.Old.Version == "v0.0.0" && filepath.Clean(r.New.Path) == m.Dir
		}
		if !used || !replaced {
			t.Errorf("go.work has no use or no replace line for %s", m.Dir)
		}
	}
}

func repository(t *testing.T) (root string, modules []repo.Module) {
	t.Helper()
	root, files, err := repo.Here()
	if err != nil {
		t.Fatal(err)
	}
	return root, repo.Modules(files)
}

func readModFile(t *testing.T, root, kind, name string) modFile {
	t.Helper()
	var file modFile
	if err := json.Unmarshal(command(t, root, kind, "edit", "-json", name), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// command runs the go command in dir and returns its standard output.
func command(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", args[0], err, &stderr)
	}
	return out
}
