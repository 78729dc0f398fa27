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
	"strings"
)

// A module is what go list -m says of one.
type module struct {
	Path, Dir string
	Main      bool
}

// modules lists what a build in dir may consist of. With a vendor directory go
// may know the main modules only, which is enough then; and should it be too few,
// the marker stops the program.
func modules(ctx context.Context, dir string, flags []string) ([]module, error) {
	var first error
	for _, args := range [][]string{{"all"}, {"-mod=readonly", "all"}, {}} {
		list, err := listModules(ctx, dir, flags, args)
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
	argv := []string{"list", "-m", "-json=Path,Dir,Main"}
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
		if m.Dir != "" { // else it is not downloaded, so no package of it is needed
			all = append(all, m)
		}
	}
}

// ours reports whether a module is one of this repository.
func (m module) ours() bool { return m.Path == Module || strings.HasPrefix(m.Path, Module+"/") }

// mentions reports whether a module can have directives: it requires us.
func (m module) mentions() bool {
	if m.Main {
		return true
	}
	if m.ours() {
		return false
	}
	text, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	return err == nil && bytes.Contains(text, []byte(Module))
}
