//go:build !linux && !darwin

package cli

import "os"

// terminalColumns is not implemented on this system; COLUMNS works.
func terminalColumns(*os.File) int { return 0 }

// interactive is the same as terminal on this system.
func interactive(f *os.File) bool { return terminal(f) }
