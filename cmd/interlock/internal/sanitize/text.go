// Package sanitize makes untrusted names safe to print on a terminal. Any client of an
// engine chooses its keys, owners and program names. An escape sequence in them must not
// move the cursor, and two different names must not look the same.
//
// Right-to-left letters are kept: a terminal may lay out a row with a Hebrew key from
// right to left.
package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
)

// maxMarks is how many combining marks a letter may have. Vietnamese needs two; more
// would reach into the lines above and below.
const maxMarks = 2

// Text returns s in a form that is safe to print on one line. Invisible and control
// characters become Go escapes. So do backslashes, so that no two texts look the same.
// An empty text becomes "".
func Text(s string) string {
	switch s {
	case "":
		return `""`
	// The text of two quotes must differ from the form of the empty one.
	case `""`:
		return `\"\"`
	}
	if plain(s) {
		return s
	}
	var b strings.Builder
	marks := maxMarks // a mark needs a letter before it
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		edge := r == ' ' && (i == 0 || i+width == len(s)) // a space there is invisible
		switch mark := unicode.Is(unicode.M, r); {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			marks = maxMarks
		case r == '\\':
			b.WriteString(`\\`)
			marks = 0
		case edge, hidden(r), mark && marks == maxMarks:
			escape(&b, r)
			marks = maxMarks
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

// Short is like [Text], limited to width columns. It omits the middle of longer texts,
// because keys differ at both ends.
func Short(s string, width int) string {
	text := Text(s)
	if i18n.Width(text) <= width {
		return text
	}
	head := (width - 1) / 2 // 1: the ellipsis
	return fit(text, head, false) + "…" + fit(text, width-1-head, true)
}

// Readable reports whether Text returns s unchanged.
func Readable(s string) bool { return s != "" && Text(s) == s }

// plain is the fast path: it reports whether s needs no escapes.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '\\' {
			return false
		}
	}
	return true
}

// hidden reports whether r is invisible or affects the characters around it: control and
// format characters, such as those of direction and zero width, special spaces, line
// separators, unassigned characters, and letters that Unicode calls ignorable.
func hidden(r rune) bool {
	const blankBraille = 0x2800 // printable, but without any dots
	return !unicode.IsPrint(r) || r == blankBraille ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// escape writes r as a Go escape.
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

// fit returns the part of a text, from its start or its end, that fits into width
// columns.
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
	for len(all) > 0 && unicode.Is(unicode.M, all[0]) { // its letter was cut off
		all = all[1:]
	}
	return string(all)
}
