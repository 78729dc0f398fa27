package weave

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Go adds weaving to the arguments of a go command, such as {"test", "-race", "./..."}.
// Self is the program that handles "cover-shim", for coverage, and "weave", for directives
// in the module cache. Arguments of commands that compile nothing are returned unchanged,
// and so are those of vet, which checks the source.
func Go(ctx context.Context, dir, self string, args []string) ([]string, error) {
	if len(args) == 0 || !slices.Contains([]string{"build", "test", "run", "install", "list"}, args[0]) {
		return args, nil
	}
	out, rest := []string{args[0]}, args[1:]
	if n, to := changeDir(rest); n > 0 { // -C must come first
		out, rest = append(out, rest[:n]...), rest[n:]
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		dir = to
	}
	flags := rest
	if args[0] == "run" {
		flags = ownFlags(rest)
	}
	passed := len(flags) // go run passes the later arguments to the program
	if pkg := versioned(args[0], rest, passed); pkg != "" {
		userTool, _ := flagValue(givenFlags(flags), "toolexec")
		own, err := toolexecOnly(self, userTool, pkg)
		return slices.Concat(out, own, rest), err
	}
	own, flags, err := weaving(ctx, dir, self, flags)
	if err != nil {
		return nil, err
	}
	return slices.Concat(out, own, flags, rest[passed:]), nil
}

// versioned returns a package with a version, as in go install example.com/shop@latest,
// or "". Such a package is built from the module cache.
func versioned(command string, args []string, flags int) string {
	pkg := ""
	switch {
	case command == "run" && flags < len(args):
		pkg = args[flags]
	case command == "install" && len(args) > 0:
		pkg = args[len(args)-1]
	}
	if pkg == "" || strings.ContainsRune("-./", rune(pkg[0])) || filepath.IsAbs(pkg) || !strings.Contains(pkg, "@") {
		return ""
	}
	return pkg
}

// weaving returns the flags for weaving, and the remaining flags of the user.
func weaving(ctx context.Context, dir, self string, flags []string) (own, rest []string, err error) {
	given := givenFlags(flags)
	userTool, _ := flagValue(given, "toolexec")
	overlay, err := Overlay(ctx, dir, flags)
	if e := (*CachedError)(nil); errors.As(err, &e) {
		own, err = toolexecOnly(self, userTool, e.Module)
		return own, flags, err
	}
	if err != nil {
		return nil, nil, err
	}
	own, rest = []string{"-overlay=" + overlay}, without(flags, "overlay")
	if covers(given) {
		own, rest = append(own, "-toolexec="+shim(self, userTool)), without(rest, "toolexec")
	}
	return own, rest, nil
}

// toolexecOnly weaves without an overlay, for modules in the module cache. It handles
// coverage, too.
func toolexecOnly(self, userTool, module string) ([]string, error) {
	w := words(userTool)
	switch {
	case len(w) == 0:
		return []string{"-toolexec=" + quoted(self) + " weave"}, nil
	case w[len(w)-1] == "weave": // the user weaves already
		return nil, nil
	}
	return nil, errors.New("weave: -toolexec conflicts with directives in " + module + ", which is in the module cache and needs its own -toolexec: omit yours, or vendor the module (go mod vendor)")
}

// shim returns the -toolexec flag for coverage. There can be only one, so ours calls the
// command of the user.
func shim(self, userTool string) string {
	ours := quoted(self) + " cover-shim"
	if n := len(words(userTool)); n > 0 {
		ours += " " + through + strconv.Itoa(n) + " " + userTool
	}
	return ours
}

// switches are the flags of go run without a value.
var switches = []string{"a", "n", "v", "x", "race", "msan", "asan", "cover", "work", "json", "trimpath", "linkshared", "modcacherw", "buildvcs"}

// ownFlags returns the flags of go run, without those of the program.
func ownFlags(args []string) []string {
	for i := 0; i < len(args); i++ {
		name := strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-")
		switch {
		case name == args[i]:
			return args[:i]
		case !strings.Contains(name, "=") && !slices.Contains(switches, name):
			i++ // skip its value
		}
	}
	return args
}

// changeDir parses the flag -C, which must come first. It returns the directory, and the
// number of arguments that the flag consists of.
func changeDir(args []string) (n int, dir string) {
	if len(args) == 0 {
		return 0, ""
	}
	if v, ok := flagValue(args[:1], "C"); ok && v != "" {
		return 1, v
	}
	if v, ok := flagValue(args[:min(2, len(args))], "C"); ok && len(args) > 1 && strings.TrimLeft(args[0], "-") == "C" {
		return 2, v
	}
	return 0, ""
}

// covers reports whether flags ask for coverage.
func covers(args []string) bool {
	on := false
	for _, name := range []string{"cover", "covermode", "coverpkg", "coverprofile"} {
		v, ok := flagValue(args, name)
		on = on || ok && (name != "cover" || v != "false")
	}
	return on
}

// without removes a flag.
func without(args []string, name string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" || strings.TrimLeft(args[i], "-") == "args" {
			return append(out, args[i:]...)
		}
		switch flag := strings.TrimPrefix(args[i], "-"); {
		case flag == args[i]:
		case strings.TrimPrefix(flag, "-") == name:
			i++
			continue
		case strings.HasPrefix(strings.TrimPrefix(flag, "-"), name+"="):
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// quoted quotes a path with spaces for a list of words.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t") {
		return "'" + path + "'"
	}
	return path
}
