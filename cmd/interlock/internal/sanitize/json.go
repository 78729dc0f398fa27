package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns JSON that says the same and that a terminal obeys nothing of. What
// [Text] would not show stands as \u…, which programs read as what it is.
func JSON(data []byte) []byte {
	var b strings.Builder
	b.Grow(len(data))
	marks := 0
	for _, r := range string(data) {
		mark := unicode.Is(unicode.M, r)
		switch {
		case r < utf8.RuneSelf && r != 0x7f: // control characters are escaped in JSON as it is
			b.WriteRune(r)
		case hidden(r), mark && marks == mostMarks:
			unicodeEscape(&b, r)
		default:
			b.WriteRune(r)
		}
		if mark {
			marks = min(marks+1, mostMarks)
		} else {
			marks = 0
		}
	}
	return []byte(b.String())
}

// unicodeEscape writes r as JSON does.
func unicodeEscape(b *strings.Builder, r rune) {
	if r <= 0xffff {
		fmt.Fprintf(b, `\u%04x`, r)
		return
	}
	high, low := utf16.EncodeRune(r)
	fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
}
