package cli

import (
	"os"
	"strconv"
)

// The width of charts, in columns.
const (
	minColumns     = 40
	defaultColumns = 80 // for a pipe or a file
	maxColumns     = 120
)

// columns returns the width for output to f: COLUMNS, or the terminal's width. COLUMNS
// comes first, so that a user can override the terminal.
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

// terminal reports whether f is a terminal or another character device. It is enough for
// colors. Use interactive where a person must answer.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
