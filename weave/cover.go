package weave

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// CoverShim stands between the go command and its tool cover, as in
// go test -cover -overlay=… -toolexec='interlock cover-shim'. That tool reads the
// source and not the overlay (go.dev/issue/73802), so what it wrote is woven
// behind it: woven statements are not counted, and the profile is that of the
// source. Every other tool just runs and is not another for the go command, so
// nothing else is compiled again. Errors are as those of [Toolexec].
//
// Behind -through=N there are N words of another such command, as in
// 'interlock cover-shim -through=2 tracer toolexec', which every tool runs through.
func CoverShim(args []string) error {
	args, tool := throughOthers(args)
	if len(tool) == 0 {
		return errors.New("weave: no tool: use it as in go test -cover -toolexec='interlock cover-shim'")
	}
	if toolName(tool[0]) != "cover" {
		return run(args)
	}
	if asksVersion(tool) {
		return stamp(args)
	}
	if err := run(args); err != nil {
		return err
	}
	i := slices.Index(args, "-outfilelist")
	if i < 0 || i+1 == len(args) {
		return nil // it only reports
	}
	list, err := os.ReadFile(args[i+1])
	if err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	for file := range strings.Lines(string(list)) {
		if file = strings.TrimSpace(file); !strings.HasSuffix(file, ".go") {
			continue
		}
		if err := weaveInPlace(file, importPath(tool[len(tool)-1])); err != nil {
			return err
		}
	}
	return nil
}

// through says how many words of another command there are.
const through = "-through="

// throughOthers returns what to run, and which part of it is the tool.
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

// weaveInPlace weaves a file of the go command's work directory.
func weaveInPlace(file, pkg string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("weave: %w", err)
	}
	// Whether the source has the marker was seen to when the overlay was made.
	w, err := File(Source{Package: pkg, Path: file, Text: text, Spared: true})
	if err != nil || w == nil {
		return err
	}
	return os.WriteFile(file, w.Text, 0o644)
}
