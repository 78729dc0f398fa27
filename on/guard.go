package on

import "os"

// This runs only in a program with a package that was compiled without weaving: weaving
// removes package on from the program, or empties this file.
func init() { //nolint:gochecknoinits // stops the program before any function runs without its lock
	if os.Getenv("INTERLOCK_UNWOVEN") == "allow" {
		return
	}
	_, _ = os.Stderr.WriteString(unwoven) // if this fails, the exit status still shows the cause
	os.Exit(exitConfig)
}

const (
	// exitConfig is EX_CONFIG of sysexits.h.
	exitConfig = 78

	unwoven = `interlock: a package in this binary has //interlock: directives but was compiled without weaving; it would run without its locks.
	build with: go tool interlock go build ...   (also: go run, go test, go install)
	or with: go build -overlay="$(go tool interlock overlay)" ..., or go build -toolexec="$(go tool -n interlock) weave" ...
	if the command interlock is installed, leave out "go tool"
	set INTERLOCK_UNWOVEN=allow to run it anyway
`
)
