package chart

import "strconv"

// A Color adds terminal colors to text; false adds none.
type Color bool

// Bold is for headings.
func (p Color) Bold(s string) string { return p.with("1", s) }

// Dim is for secondary text.
func (p Color) Dim(s string) string { return p.with("2", s) }

// Good is for passed checks.
func (p Color) Good(s string) string { return p.with("32", s) }

// Bad is for failed checks.
func (p Color) Bad(s string) string { return p.with("31", s) }

// ramp goes from blue to green in the 256-color palette.
var ramp = []int{39, 38, 44, 43, 42, 41, 40}

// step returns text in the color of the i-th of n rows.
func (p Color) step(i, n int, s string) string {
	return p.with("38;5;"+strconv.Itoa(ramp[i*len(ramp)/n]), s)
}

// with adds an SGR code and resets all attributes after the text. It does not nest.
func (p Color) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
