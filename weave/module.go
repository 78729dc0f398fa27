package weave

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A module is a module from go list -m.
type module struct {
	Path, Dir string
	Main      bool
	Replace   *struct{ Version string }
}

// cached reports whether a module is in the module cache.
func (m module) cached() bool {
	return !m.Main && (m.Replace == nil || m.Replace.Version != "")
}

// modules lists the modules of a build in dir. With a vendor directory the go command
// refuses to list all of them. Then the main modules are enough: walkVendor weaves the
// others. If a module is missing from the list, its marker stops the program.
func modules(ctx context.Context, dir string, flags []string) ([]module, error) {
	var first error
	for i, args := range [][]string{{"all"}, {"-mod=readonly", "all"}, {}} {
		list, err := listModules(ctx, dir, flags, args)
		if err == nil && i > 0 {
			list = slices.DeleteFunc(list, module.cached)
		}
		if err == nil {
			return list, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("weave: go list -m in %s: %w", dir, first)
}

func listModules(ctx context.Context, dir string, flags, args []string) ([]module, error) {
	argv := []string{"list", "-m", "-json=Path,Dir,Main,Replace"}
	argv = append(argv, flags...)
	cmd := exec.CommandContext(ctx, "go", append(argv, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return nil, errors.New(strings.TrimSpace(string(e.Stderr)))
	}
	if err != nil {
		return nil, err
	}
	var all []module
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var m module
		switch err := dec.Decode(&m); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if m.Dir != "" { // otherwise it is not downloaded and not needed
			all = append(all, m)
		}
	}
}

// ours reports whether a module belongs to Interlock.
func (m module) ours() bool { return m.Path == Module || strings.HasPrefix(m.Path, Module+"/") }

// mayHaveDirectives reports whether a module is a main module or requires Interlock.
func (m module) mayHaveDirectives() bool {
	if m.Main {
		return true
	}
	if m.ours() {
		return false
	}
	text, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	return err == nil && bytes.Contains(text, []byte(Module))
}
