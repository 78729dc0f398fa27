// Package chart draws who waited and who held, in characters.
package chart

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A Span is one who asked, entered and left, counted from when the picture
// begins.
type Span struct{ Ask, Enter, Leave time.Duration }

// A Chart says how to draw.
type Chart struct {
	Width int // columns in all
	Rows  int // at most
	Paint Paint
	Alarm bool // what is shown is not as it should be
}

// What a half of a column shows.
const (
	nothing = iota
	waits
	holds
)

// Draw returns a row for each span, in the order given, with an axis of time
// below. If there are too many, a row stands for several in succession.
//
// A half column shows a hold if that hold was there in the middle of its time.
// So two holds that do not overlap are never drawn as if they did, unless a row
// would be empty otherwise.
func (c Chart) Draw(spans []Span) string {
	if len(spans) == 0 {
		return ""
	}
	each := c.Each(len(spans))
	rows := (len(spans) + each - 1) / each
	gutter := utf8.RuneCountInString(label(len(spans)-each, each, len(spans)))
	s := scale{halves: 2 * max(1, c.Width-gutter-1)}
	for _, span := range spans {
		s.total = max(s.total, span.Leave, 1)
	}
	var b strings.Builder
	for i := range rows {
		first := i * each
		group := spans[first:min(first+each, len(spans))]
		b.WriteString(c.Paint.Dim(fmt.Sprintf("%*s", gutter, label(first, each, len(spans)))) + " ")
		b.WriteString(c.row(s.halvesOf(group), i, rows))
		b.WriteByte('\n')
	}
	indent := strings.Repeat(" ", gutter+1)
	rule, labels := s.axis()
	b.WriteString(c.Paint.Dim(indent+rule) + "\n" + c.Paint.Dim(indent+labels) + "\n")
	return b.String()
}

// Each returns how many of n a row stands for.
func (c Chart) Each(n int) int { return (n + c.Rows - 1) / c.Rows }

// label names those of a row by their places, from 1.
func label(first, each, n int) string {
	last := min(first+each, n)
	if last == first+1 {
		return fmt.Sprint(last)
	}
	return fmt.Sprintf("%d–%d", first+1, last)
}

// row turns halves of columns into characters, and paints those of a kind in
// one stroke.
func (c Chart) row(halves []uint8, i, rows int) string {
	var b strings.Builder
	var run strings.Builder
	kind := nothing
	flush := func() {
		switch {
		case kind == waits:
			b.WriteString(c.Paint.Dim(run.String()))
		case kind == holds && c.Alarm:
			b.WriteString(c.Paint.Bad(run.String()))
		case kind == holds:
			b.WriteString(c.Paint.step(i, rows, run.String()))
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
	return strings.TrimRight(b.String(), " ")
}

// cell returns the character for two halves, and what it shows.
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
