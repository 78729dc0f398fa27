//go:build !linux && !darwin

package cli

import "os"

// terminalColumns does not know here; COLUMNS may.
func terminalColumns(*os.File) int { return 0 }

// interactive is as good as terminal here.
func interactive(f *os.File) bool { return terminal(f) }
