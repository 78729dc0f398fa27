// Package chart draws waits and holds as text.
package chart

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A Span is one acquisition: when the caller asked, entered and left, relative to the
// start of the chart.
type Span struct{ Ask, Enter, Leave time.Duration }

// A Chart sets the size and the colors of a drawing.
type Chart struct {
	Width int // total columns
	Rows  int // maximum
	Color Color
	Alarm bool // draw the holds in red
}

// The contents of half a column.
const (
	nothing = iota
	waits
	holds
)

// Draw returns one row per span, in the given order, above a time axis. If there are too
// many spans, a row contains several consecutive ones.
//
// Half a column shows a hold that was active at the middle of its time. Two holds that
// do not overlap are therefore never drawn as overlapping, unless a row would be empty.
func (c Chart) Draw(spans []Span) string {
	if len(spans) == 0 {
		return ""
	}
	// The last label has the largest numbers, so it is the widest.
	each := c.Each(len(spans))
	rows := (len(spans) + each - 1) / each
	gutter := utf8.RuneCountInString(label(len(spans)-each, each, len(spans)))
	s := scale{halves: 2 * max(1, c.Width-gutter-1)}
	for _, span := range spans {
		s.total = max(s.total, span.Leave, 1) // 1 ns: scale divides by it
	}
	var b strings.Builder
	for i := range rows {
		first := i * each
		group := spans[first:min(first+each, len(spans))]
		b.WriteString(c.Color.Dim(fmt.Sprintf("%*s", gutter, label(first, each, len(spans)))) + " ")
		b.WriteString(c.row(s.halvesOf(group), i, rows))
		b.WriteByte('\n')
	}
	indent := strings.Repeat(" ", gutter+1)
	rule, labels := s.axis()
	b.WriteString(c.Color.Dim(indent+rule) + "\n" + c.Color.Dim(indent+labels) + "\n")
	return b.String()
}

// Each returns how many of n spans a row contains.
func (c Chart) Each(n int) int { return (n + c.Rows - 1) / c.Rows }

// label returns the numbers of a row's spans, counted from 1.
func label(first, each, n int) string {
	last := min(first+each, n)
	if last == first+1 {
		return fmt.Sprint(last)
	}
	return fmt.Sprintf("%d–%d", first+1, last)
}

// row converts halves of columns into characters. Consecutive characters of a kind share
// one color code.
func (c Chart) row(halves []uint8, i, rows int) string {
	var b strings.Builder
	var run strings.Builder
	kind := nothing
	flush := func() {
		switch {
		case kind == waits:
			b.WriteString(c.Color.Dim(run.String()))
		case kind == holds && c.Alarm:
			b.WriteString(c.Color.Bad(run.String()))
		case kind == holds:
			b.WriteString(c.Color.step(i, rows, run.String()))
		default:
			b.WriteString(run.String())
		}
		run.Reset()
	}
	for x := 0; x < len(halves); x += 2 {
		char, now := cell(halves[x], halves[x+1])
		if now != kind {
			flush()
			kind = now
		}
		run.WriteRune(char)
	}
	flush()
	return strings.TrimRight(b.String(), " ") // spaces are never colored, so they are at the end
}

// cell returns the character of two halves, and its kind. A hold hides a wait in the
// other half: one character cannot show both.
func cell(left, right uint8) (rune, int) {
	switch {
	case left == holds && right == holds:
		return '█', holds
	case left == holds:
		return '▌', holds
	case right == holds:
		return '▐', holds
	case left == waits || right == waits:
		return '·', waits
	}
	return ' ', nothing
}
