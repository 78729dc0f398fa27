package cli

import (
	"os"
	"strconv"
)

// What a picture is drawn for, in columns: below the least it says nothing, and
// above the most it takes a walk to read.
const (
	leastColumns   = 40
	defaultColumns = 80
	mostColumns    = 120
)

// columns returns how wide what is written to f may be: as COLUMNS says, or the
// terminal.
func columns(f *os.File, getenv func(string) string) int {
	n, err := strconv.Atoi(getenv("COLUMNS"))
	if err != nil || n <= 0 {
		n = terminalColumns(f)
	}
	if n <= 0 {
		n = defaultColumns
	}
	return min(max(n, leastColumns), mostColumns)
}

// terminal reports whether people look at what is written to f.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
