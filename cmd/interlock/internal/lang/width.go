package lang

import (
	"strings"
	"unicode"
)

// Width returns how many columns of a terminal a text takes: two for a Chinese
// character and for the punctuation that goes with it, one for anything else.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n++
		if unicode.Is(wide, r) {
			n++
		}
	}
	return n
}

// Pad fills a text with spaces up to a width.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// wide is the part of Unicode's East Asian Width W and F that Chinese is
// written in.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1}, // radicals, punctuation
		{Lo: 0x3041, Hi: 0x33ff, Stride: 1}, // kana and the like
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1},
		{Lo: 0x4e00, Hi: 0x9fff, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, // hangul
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xff01, Hi: 0xff60, Stride: 1}, // full-width forms
	},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x3fffd, Stride: 1}},
}
