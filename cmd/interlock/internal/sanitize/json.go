package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns equivalent JSON that is safe to print on a terminal. Characters that
// [Text] escapes become \u…, which JSON parsers read back unchanged.
func JSON(data []byte) []byte {
	var b strings.Builder
	b.Grow(len(data))
	marks := 0
	for _, r := range string(data) {
		mark := unicode.Is(unicode.M, r)
		switch {
		case r < utf8.RuneSelf && r != 0x7f: // JSON itself escapes control characters
			b.WriteRune(r)
		case hidden(r), mark && marks == maxMarks:
			unicodeEscape(&b, r)
		default:
			b.WriteRune(r)
		}
		if mark {
			marks = min(marks+1, maxMarks)
		} else {
			marks = 0
		}
	}
	return []byte(b.String())
}

// unicodeEscape writes r as a JSON escape. Only characters inside of strings need it:
// JSON syntax is ASCII.
func unicodeEscape(b *strings.Builder, r rune) {
	if r <= 0xffff {
		fmt.Fprintf(b, `\u%04x`, r)
		return
	}
	// JSON escapes have four digits, so larger characters become a surrogate pair.
	high, low := utf16.EncodeRune(r)
	fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
}
