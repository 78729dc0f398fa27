package sanitize

import (
	"strings"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// Table aligns the columns of rows, two spaces apart. It does not sanitize the cells.
// Widths are in columns: a Chinese character has two.
func Table(rows [][]string) (lines []string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], i18n.Width(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(i18n.Pad(cell, widths[i]) + "  ")
		}
		// Trailing spaces would wrap in a narrow terminal.
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
