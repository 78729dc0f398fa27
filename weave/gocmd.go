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
	n, dir := changeDir(dir, args) // before the command, or directly after it
	if n == len(args) || !slices.Contains([]string{"build", "test", "run", "install", "list"}, args[n]) {
		return args, nil
	}
	command, rest := args[n], args[n+1:]
	n++
	if n == 1 {
		n, dir = changeDir(dir, rest)
		rest = rest[n:]
		n++
	}
	out, flags := args[:n:n], rest
	if command == "run" {
		flags = ownFlags(rest)
	}
	passed := len(flags) // go run passes the later arguments to the program
	given, err := givenFlags(ctx, dir, flags)
	if err != nil {
		return nil, err
	}
	var own []string
	if versioned(command, rest, passed) {
		own, flags = toolexecOnly(self, flags, given)
	} else if own, flags, err = weaving(ctx, dir, self, flags, given); err != nil {
		return nil, err
	}
	return slices.Concat(out, own, flags, rest[passed:]), nil
}

// versioned reports whether a package has a version, as in
// go install example.com/shop@latest. Such a package is built from the module cache.
func versioned(command string, args []string, flags int) bool {
	pkg := ""
	switch {
	case command == "run" && flags < len(args):
		pkg = args[flags]
	case command == "install" && len(args) > 0:
		pkg = args[len(args)-1]
	}
	return pkg != "" && !strings.ContainsRune("-./", rune(pkg[0])) && !filepath.IsAbs(pkg) && strings.Contains(pkg, "@")
}

// weaving returns the flags for weaving, and the remaining flags of the user. given has the
// same flags, and those of GOFLAGS.
func weaving(ctx context.Context, dir, self string, flags, given []string) (own, rest []string, err error) {
	overlay, mistakes, err := makeOverlay(ctx, dir, given)
	if errors.As(err, new(*CachedError)) {
		own, rest = toolexecOnly(self, flags, given)
		return own, rest, nil
	}
	if err != nil {
		return nil, nil, err
	}
	own, rest = []string{"-overlay=" + overlay}, without(flags, "overlay")
	if covers(given) || mistakes != nil { // the shim reports the mistakes of a package
		userTool, _ := flagValue(given, "toolexec")
		own, rest = append(own, "-toolexec="+shim(self, userTool)), without(rest, "toolexec")
	}
	return own, rest, nil
}

// toolexecOnly weaves without an overlay, for modules in the module cache. It handles
// coverage, too. The go command takes one -toolexec, so ours calls the command of the user,
// unless that weaves already.
func toolexecOnly(self string, flags, given []string) (own, rest []string) {
	ours := "-toolexec=" + quoted(self) + " weave"
	if userTool, _ := flagValue(given, "toolexec"); slices.Contains(words(userTool), "weave") {
		return nil, flags
	} else if userTool != "" {
		ours += " " + userTool
	}
	return []string{ours}, without(flags, "toolexec")
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

// changeDir parses the flag -C at the start of args. It returns the number of arguments
// that the flag consists of, and the directory in which the go command runs.
func changeDir(dir string, args []string) (n int, to string) {
	if len(args) == 0 {
		return 0, dir
	}
	switch v, ok := flagValue(args[:1], "C"); {
	case !ok:
		return 0, dir
	case v != "":
		n, to = 1, v
	case len(args) > 1 && strings.TrimLeft(args[0], "-") == "C":
		n, to = 2, args[1]
	default:
		return 0, dir // the go command reports the empty name
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return n, to
}

// covers reports whether flags ask for coverage. The go command also accepts
// -test.coverprofile.
func covers(args []string) bool {
	on := false
	for _, name := range []string{"cover", "covermode", "coverpkg", "coverprofile", "test.coverprofile"} {
		v, ok := flagValue(args, name)
		if yes, err := strconv.ParseBool(v); name == "cover" && err == nil {
			ok = ok && yes
		}
		on = on || ok
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
