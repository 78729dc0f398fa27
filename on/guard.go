package on

import "os"

// If this runs, some package with directives was compiled from its source as it
// stands: weaving takes this package out of the program, or empties this file.
func init() { //nolint:gochecknoinits // before main is the only time at which nothing has run without its lock
	if os.Getenv("INTERLOCK_UNWOVEN") == "allow" {
		return
	}
	_, _ = os.Stderr.WriteString(unwoven) // if nobody can be told, the status says it
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
