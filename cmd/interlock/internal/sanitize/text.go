// Package sanitize makes what others have named fit for a terminal. Keys, owners and
// names of programs come from whoever uses an engine: one that holds an escape
// sequence must not move the cursor, and two that differ must not look the same.
//
// It does not hide that letters are written from right to left: a row with a
// Hebrew key may be laid out by the terminal as Hebrew is.
package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// mostMarks is how many marks in a row a letter may carry. Vietnamese needs two;
// more reach into the lines above and below.
const mostMarks = 2

// Text returns s as it can be shown on one line. What would not be seen, or would
// do something, is written as Go writes it in a string; so is a backslash, so that
// no two texts look the same. An empty text is "".
func Text(s string) string {
	switch s {
	case "":
		return `""`
	case `""`:
		return `\"\"`
	}
	if plain(s) {
		return s
	}
	var b strings.Builder
	marks := mostMarks // a mark needs something to stand on
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		edge := r == ' ' && (i == 0 || i+width == len(s)) // a space there is not seen
		switch mark := unicode.Is(unicode.M, r); {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			marks = mostMarks
		case r == '\\':
			b.WriteString(`\\`)
			marks = 0
		case edge, hidden(r), mark && marks == mostMarks:
			escape(&b, r)
			marks = mostMarks
		case mark:
			b.WriteRune(r)
			marks++
		default:
			b.WriteRune(r)
			marks = 0
		}
		i += width
	}
	return b.String()
}

// Short returns s as [Text] does, in width columns at most: of what is longer, the
// middle is left out, since keys differ at both ends.
func Short(s string, width int) string {
	text := Text(s)
	if i18n.Width(text) <= width {
		return text
	}
	head := (width - 1) / 2
	return fit(text, head, false) + "…" + fit(text, width-1-head, true)
}

// Readable tells whether Text changes nothing.
func Readable(s string) bool { return s != "" && Text(s) == s }

// plain tells at once what nearly all keys are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '\\' {
			return false
		}
	}
	return true
}

// hidden reports whether r is not seen, or does something to what is around it:
// control and format characters, which are those of direction and zero width,
// spaces that are not the space, line ends, what no font has, and letters that
// Unicode calls ignorable.
func hidden(r rune) bool {
	const blankBraille = 0x2800 // it has a shape, of no dots
	return !unicode.IsPrint(r) || r == blankBraille ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// escape writes r as Go does.
func escape(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < utf8.RuneSelf:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// fit returns as much of one end of a text as fits into width columns.
func fit(text string, width int, end bool) string {
	all := []rune(text)
	n := 0
	for taken := 0; n < len(all); n++ {
		r := all[n]
		if end {
			r = all[len(all)-1-n]
		}
		if taken += i18n.Width(string(r)); taken > width {
			break
		}
	}
	if !end {
		return string(all[:n])
	}
	all = all[len(all)-n:]
	for len(all) > 0 && unicode.Is(unicode.M, all[0]) { // its letter is gone
		all = all[1:]
	}
	return string(all)
}
