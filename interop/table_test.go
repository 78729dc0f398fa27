package interop

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// table is the result of the tests: a row for each test, and a column for each direction.
var table resultTable

type resultTable struct {
	mu    sync.Mutex
	rows  []string
	cells map[[2]string]string
}

// record sets a cell of the table.
func (f *resultTable) record(row, column, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells == nil {
		f.cells = make(map[[2]string]string)
	}
	if f.cells[[2]string{row, goToJava}]+f.cells[[2]string{row, javaToGo}] == "" {
		f.rows = append(f.rows, row)
	}
	f.cells[[2]string{row, column}] = fmt.Sprintf(format, args...)
}

func (f *resultTable) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rows) == 0 {
		return ""
	}
	slices.Sort(f.rows) // parallel tests record in any order
	all := [][3]string{{version() + ", holder → waiter", goToJava, javaToGo}}
	for _, row := range f.rows {
		all = append(all, [3]string{row, f.cells[[2]string{row, goToJava}], f.cells[[2]string{row, javaToGo}]})
	}
	var widths [3]int
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range all {
		line := fmt.Sprintf("%-*s  %-*s  %-*s", widths[0], row[0], widths[1], row[1], widths[2], row[2])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
