package weave

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Overlay weaves the build in dir and returns the path of a file for go build -overlay.
// Args are the flags of the go command; an -overlay among them, or in GOFLAGS, is merged.
// The overlay contains copies of the source, so make a new one for each build. An overlay
// cannot replace files in the module cache: if a module there has directives, the error is
// a [CachedError].
func Overlay(ctx context.Context, dir string, args []string) (string, error) {
	given, err := givenFlags(ctx, dir, args)
	if err != nil {
		return "", err
	}
	path, mistakes, err := makeOverlay(ctx, dir, given)
	if mistakes != nil {
		return "", mistakes
	}
	return path, err
}

// makeOverlay makes an overlay for the flags of a go command and of GOFLAGS. Files with
// mistakes do not compile with it.
func makeOverlay(ctx context.Context, dir string, given []string) (path string, mistakes, err error) {
	own, err := readOverlay(dir, given)
	if err != nil {
		return "", nil, err
	}
	tree, err := scan(ctx, dir, given, own)
	if err != nil {
		return "", nil, err
	}
	mistakes = tree.errs.err()
	if tree.cached != "" {
		return "", mistakes, &CachedError{tree.cached}
	}
	path, err = tree.store(own)
	return path, mistakes, err
}

// store stores the files of a tree, and returns the path of their overlay.
func (t *Tree) store(own overlay) (string, error) {
	store, err := openCache()
	if err != nil {
		return "", err
	}
	merged := overlay{Replace: map[string]string{}}
	maps.Copy(merged.Replace, own.Replace)
	texts := maps.Clone(t.broken)
	for file, w := range t.Files {
		texts[file] = w.Text
	}
	for file, text := range texts {
		// Keep the base name: coverage profiles show it.
		if merged.Replace[file], err = store.put(text, filepath.Base(file)); err != nil {
			return "", err
		}
	}
	text, err := json.MarshalIndent(merged, "", "\t") // sorts its keys
	if err != nil {
		return "", fmt.Errorf("weave: %w", err)
	}
	defer store.trim()
	return store.put(text, "overlay.json")
}

// An overlay is the content of an overlay file.
type overlay struct{ Replace map[string]string }

// readOverlay reads the overlay of the user's flags.
func readOverlay(dir string, given []string) (overlay, error) {
	var o overlay
	file, _ := flagValue(given, "overlay")
	if file == "" {
		return o, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&o)
	}
	if err != nil {
		return o, fmt.Errorf("weave: -overlay=%s: %w", file, err)
	}
	full := map[string]string{} // relative paths are relative to the working directory
	for from, to := range o.Replace {
		if from, err = absolute(dir, from); err != nil {
			return o, err
		}
		if to != "" {
			if to, err = absolute(dir, to); err != nil {
				return o, err
			}
		}
		full[from] = to
	}
	return overlay{full}, nil
}

func absolute(dir, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Abs(filepath.Join(dir, path))
}

// read returns the text of a file as the build sees it, or nil if it is deleted.
func (o overlay) read(file string) ([]byte, error) {
	if to, ok := o.Replace[file]; ok {
		if to == "" {
			return nil, nil
		}
		file = to
	}
	return os.ReadFile(file)
}

// moduleFlags returns the flags that select modules.
func moduleFlags(args []string) []string {
	var flags []string
	for _, name := range []string{"mod", "modfile"} {
		if v, ok := flagValue(args, name); ok {
			flags = append(flags, "-"+name+"="+v)
		}
	}
	return flags
}

// flagValue finds -name=value or -name value, with one dash or two. It ignores arguments
// after -- or -args, which belong to the built program.
func flagValue(args []string, name string) (value string, found bool) {
	for i, a := range args {
		if a == "--" || a == "-args" || a == "--args" {
			break
		}
		flag, v, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"), "=")
		if flag != name || a == flag || a == flag+"="+v {
			continue
		}
		if !ok && i+1 < len(args) {
			v = args[i+1]
		}
		value, found = v, true // the last one wins
	}
	return value, found
}
