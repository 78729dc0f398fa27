package chart

import (
	"strings"
	"time"
	"unicode/utf8"
)

// A scale maps times to halves of columns.
type scale struct {
	halves int           // of the drawing; two per column
	total  time.Duration // shown by all halves together; above 0
}

// halvesOf draws the spans of one row.
func (s scale) halvesOf(group []Span) []uint8 {
	row := make([]uint8, s.halves)
	drawn := false
	previousEnd := time.Duration(-1) // when the previous span ended
	for _, span := range group {
		for i := s.half(span.Ask); i < s.half(span.Enter); i++ {
			row[i] = max(row[i], waits) // a hold of an earlier span stays
		}
		from := span.Enter
		if previousEnd >= 0 && from > previousEnd && from-previousEnd < s.total/time.Duration(s.halves) {
			from = previousEnd // the gap is too small to draw
		}
		for i := s.half(from); i < s.half(span.Leave); i++ {
			row[i] = holds
			drawn = true
		}
		previousEnd = span.Leave
	}
	if !drawn { // too short for half a column; draw it all the same
		row[min(s.half(group[0].Enter), s.halves-1)] = holds
	}
	return row
}

// half returns the first half of a column whose middle is not before t.
func (s scale) half(t time.Duration) int {
	x := float64(t)*float64(s.halves)/float64(s.total) + 0.5
	return min(max(0, int(x)), s.halves)
}

// axis returns a ruler with a mark at each round time, and the labels below it.
func (s scale) axis() (rule, labels string) {
	columns := s.halves / 2
	step := s.step(columns)
	marks := []rune(strings.Repeat("─", columns))
	times := []rune(strings.Repeat(" ", columns))
	for t := time.Duration(0); t <= s.total; t += step {
		x := int(float64(t) * float64(columns) / float64(s.total))
		if x >= columns {
			break
		}
		marks[x] = '┴'
		if text := []rune(Duration(t)); x+len(text) <= columns {
			copy(times[x:], text)
		}
	}
	marks[0] = '└' // the corner; time 0 is always marked
	return string(marks), strings.TrimRight(string(times), " ")
}

// step returns a round time that leaves enough columns for its label. Steps are 1, 2 and
// 5 times a power of ten. It ends, because a step above the total needs no label.
func (s scale) step(columns int) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		for _, step := range []time.Duration{unit, 2 * unit, 5 * unit} {
			wide := float64(step) * float64(columns) / float64(s.total)
			if wide >= minMarkDistance && wide >= float64(utf8.RuneCountInString(Duration(step))+2) || step > s.total {
				return step
			}
		}
	}
}

// minMarkDistance is the minimum number of columns between two marks.
const minMarkDistance = 10
