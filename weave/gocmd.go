package weave

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Go returns the arguments for the go command that build with weaving what args
// would build without, such as {"test", "-race", "./..."}. Self is the program
// that answers to "cover-shim", for coverage, and to "weave", for directives in the
// module cache. Commands that compile nothing are returned as they are, and so is
// vet, which looks at the source as written.
func Go(ctx context.Context, dir, self string, args []string) ([]string, error) {
	if len(args) == 0 || !slices.Contains([]string{"build", "test", "run", "install", "list"}, args[0]) {
		return args, nil
	}
	out, rest := []string{args[0]}, args[1:]
	if n, to := changed(rest); n > 0 { // it must come first
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
	passed := len(flags) // what is behind them is passed on
	if pkg := versioned(args[0], rest, passed); pkg != "" {
		theirs, _ := flagValue(givenFlags(flags), "toolexec")
		own, err := wholly(self, theirs, pkg)
		return slices.Concat(out, own, rest), err
	}
	own, flags, err := weaving(ctx, dir, self, flags)
	if err != nil {
		return nil, err
	}
	return slices.Concat(out, own, flags, rest[passed:]), nil
}

// versioned is a package with a version, as in go install example.com/shop@latest,
// or "". It is built as a program of its own, from the module cache.
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

// weaving returns the flags that weave, and what remains of the user's.
func weaving(ctx context.Context, dir, self string, flags []string) (own, rest []string, err error) {
	given := givenFlags(flags)
	theirs, _ := flagValue(given, "toolexec")
	overlay, err := Overlay(ctx, dir, flags)
	if e := (*CachedError)(nil); errors.As(err, &e) {
		own, err = wholly(self, theirs, e.Module)
		return own, flags, err
	}
	if err != nil {
		return nil, nil, err
	}
	own, rest = []string{"-overlay=" + overlay}, without(flags, "overlay")
	if covers(given) {
		own, rest = append(own, "-toolexec="+shim(self, theirs)), without(rest, "toolexec")
	}
	return own, rest, nil
}

// wholly weaves without an overlay, for a module of which there can be none. What
// is covered is woven in that way, too.
func wholly(self, theirs, module string) ([]string, error) {
	w := words(theirs)
	switch {
	case len(w) == 0:
		return []string{"-toolexec=" + quoted(self) + " weave"}, nil
	case w[len(w)-1] == "weave": // the user does so
		return nil, nil
	}
	return nil, errors.New("weave: -toolexec does not go with directives in " + module + ": what is in the module cache needs one itself; leave yours out, or have a copy of the module (go mod vendor)")
}

// shim is the flag -toolexec for coverage. There can be one only, so ours calls
// the one of the user, if there is one.
func shim(self, theirs string) string {
	ours := quoted(self) + " cover-shim"
	if n := len(words(theirs)); n > 0 {
		ours += " " + through + strconv.Itoa(n) + " " + theirs
	}
	return ours
}

// switches are the flags of go run that take no value.
var switches = []string{"a", "n", "v", "x", "race", "msan", "asan", "cover", "work", "json", "trimpath", "linkshared", "modcacherw", "buildvcs"}

// ownFlags are those of go run: what is behind them is the program's.
func ownFlags(args []string) []string {
	for i := 0; i < len(args); i++ {
		name := strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-")
		switch {
		case name == args[i]:
			return args[:i]
		case !strings.Contains(name, "=") && !slices.Contains(switches, name):
			i++ // its value
		}
	}
	return args
}

// changed reads the flag -C, which can be the first only, and how many arguments
// it takes.
func changed(args []string) (n int, dir string) {
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

// without leaves a flag out.
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

// quoted keeps a path with spaces in one piece in a list of words.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t") {
		return "'" + path + "'"
	}
	return path
}
