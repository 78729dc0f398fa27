package main

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/tools/repo"
)

// version is the version at which the modules of this repository require each other.
const version = "v0.0.0"

// unreleased lists the modules that users neither import nor install.
var unreleased = []string{"bench", "torture", "interop"}

// pack writes the released modules among files to a module proxy in dir.
func pack(root string, files []string, dir string) ([]repo.Module, error) {
	modules := repo.Modules(files)
	var packed []repo.Module
	for _, m := range modules {
		if slices.Contains(unreleased, m.Dir) {
			continue
		}
		var own []string
		for _, file := range files {
			if repo.Home(modules, file) == m && !inNestedModule(files, m, file) {
				own = append(own, file)
			}
		}
		if err := packModule(root, m, own, dir); err != nil {
			return nil, fmt.Errorf("packing %s: %w", m.Path, err)
		}
		packed = append(packed, m)
	}
	return packed, nil
}

// inNestedModule reports whether a file of m belongs to a module in testdata, which is not
// in the archive of m.
func inNestedModule(files []string, m repo.Module, file string) bool {
	for dir := path.Dir(file); dir != m.Dir && dir != "."; dir = path.Dir(dir) {
		if slices.Contains(files, dir+"/go.mod") {
			return true
		}
	}
	return false
}

// packModule writes the four files of a module that a proxy serves.
func packModule(root string, m repo.Module, files []string, dir string) error {
	home := filepath.Join(dir, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, m.Dir, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version":"` + version + `"}`),
		version + ".mod":  mod,
	} {
		if err := os.WriteFile(filepath.Join(home, name), text, 0o644); err != nil {
			return err
		}
	}
	out, err := os.Create(filepath.Join(home, version+".zip"))
	if err != nil {
		return err
	}
	defer out.Close() // for an early return; a second Close is harmless
	if err := archive(out, root, m, files); err != nil {
		return err
	}
	return out.Close()
}

// archive writes the zip file of a module. Like the go command, it adds the root's
// licence to a module below the root.
func archive(w io.Writer, root string, m repo.Module, files []string) error {
	names := make(map[string]string, len(files)+1) // in the archive → in the repository
	names["LICENSE"] = "LICENSE"
	for _, file := range files {
		names[strings.TrimPrefix(file, m.Dir+"/")] = file
	}
	z := zip.NewWriter(w)
	for name, file := range names {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		entry, err := z.Create(path.Join(m.Path+"@"+version, name))
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}
