package on

import "os"

// If this runs, a package with directives was compiled without weaving: weaving removes
// this package from the program, or empties this file.
func init() { //nolint:gochecknoinits // only before main has nothing run without its lock
	if os.Getenv("INTERLOCK_UNWOVEN") == "allow" {
		return
	}
	_, _ = os.Stderr.WriteString(unwoven) // the exit status says it, too
	os.Exit(exitConfig)
}

const (
	// exitConfig is EX_CONFIG of sysexits.h.
	exitConfig = 78

	unwoven = `interlock: a package in this binary has //interlock: directives but was compiled without weaving; its locks would be inert.
	build with: interlock go build ...   (or: go build -overlay=$(interlock overlay) ..., or -toolexec='interlock weave')
	set INTERLOCK_UNWOVEN=allow to run it anyway
`
)
