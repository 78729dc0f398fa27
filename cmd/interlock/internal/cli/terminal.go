package cli

import (
	"os"
	"strconv"
)

// The width of charts, in columns.
const (
	minColumns     = 40
	defaultColumns = 80
	maxColumns     = 120
)

// columns returns the width for output to f: COLUMNS, or the terminal's width.
func columns(f *os.File, getenv func(string) string) int {
	n, err := strconv.Atoi(getenv("COLUMNS"))
	if err != nil || n <= 0 {
		n = terminalColumns(f)
	}
	if n <= 0 {
		n = defaultColumns
	}
	return min(max(n, minColumns), maxColumns)
}

// terminal reports whether f is a terminal or another character device.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
