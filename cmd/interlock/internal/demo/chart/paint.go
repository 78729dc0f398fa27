package chart

import "strconv"

// A Paint colours text, or leaves it as it is.
type Paint bool

// Bold is for headings.
func (p Paint) Bold(s string) string { return p.with("1", s) }

// Dim is for what is in the background.
func (p Paint) Dim(s string) string { return p.with("2", s) }

// Good is for what is as it should be.
func (p Paint) Good(s string) string { return p.with("32", s) }

// Bad is for what is not.
func (p Paint) Bad(s string) string { return p.with("31", s) }

// ramp goes from blue to green in the 256 colours that terminals agree on.
var ramp = []int{39, 38, 44, 43, 42, 41, 40}

// step colours the i-th of n steps, so that a staircase changes its colour on
// the way down.
func (p Paint) step(i, n int, s string) string {
	return p.with("38;5;"+strconv.Itoa(ramp[i*len(ramp)/n]), s)
}

func (p Paint) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
