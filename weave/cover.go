package weave

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// CoverShim wraps the cover tool, as in
// go test -cover -overlay=… -toolexec='interlock cover-shim'. The cover tool reads the
// source and not the overlay (go.dev/issue/73802), so CoverShim weaves the output of the
// tool. Thus inserted statements are not counted, and the profile matches the source.
// Other tools run unchanged, so nothing else is recompiled. The compiler does not run on
// files with mistakes: CoverShim returns the mistakes. Other errors are as in [Toolexec].
//
// A second -toolexec command follows -through=N, where N is its number of words, as in
// 'interlock cover-shim -through=2 tracer toolexec'. Every tool then runs through it.
func CoverShim(args []string) error {
	args, tool := throughOthers(args)
	if len(tool) == 0 {
		return errors.New("weave: no tool given: use it as in go test -cover -toolexec='interlock cover-shim'")
	}
	if toolName(tool[0]) != "cover" {
		return stopsAtMistakes(args, tool)
	}
	if asksVersion(tool) {
		return stamp(args)
	}
	if err := run(args); err != nil {
		return err
	}
	i := slices.Index(args, "-outfilelist")
	if i < 0 || i+1 == len(args) {
		return nil // this call writes no source
	}
	list, err := os.ReadFile(args[i+1])
	if err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	files := slices.DeleteFunc(strings.Split(string(list), "\n"), func(file string) bool { return !strings.HasSuffix(file, ".go") })
	own := filesDeclareError(files, os.ReadFile)
	for _, file := range files {
		if err := weaveInPlace(file, importPath(tool[len(tool)-1]), own); err != nil {
			return err
		}
	}
	return nil
}

// through is the flag with the number of words of another -toolexec command.
const through = "-through="

// throughOthers returns the command without that flag, and the part of it that is the tool.
func throughOthers(args []string) (all, tool []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], through) {
		return args, args
	}
	all = args[1:]
	n, err := strconv.Atoi(args[0][len(through):])
	if err != nil || n < 0 || n >= len(all) {
		return nil, nil
	}
	return all, all[n:]
}

// weaveInPlace weaves a file in the go command's work directory.
func weaveInPlace(file, pkg string, errorShadowed bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	// The overlay has checked that the source has the marker.
	w, err := File(Source{Package: pkg, Path: file, Text: text, MarkerOptional: true, ErrorShadowed: errorShadowed})
	if err != nil || w == nil {
		return err
	}
	return os.WriteFile(file, w.Text, 0o644)
}
