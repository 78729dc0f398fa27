// Package sanitizetest generates hostile names, and checks that printed text is harmless.
package sanitizetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// nasty are parts that control a terminal or deceive its reader.
var nasty = []string{
	"\x1b[2J", "\x1b]0;owned\x07", "\x1b[31m", "\x1b[1;1H", "\x1bP+q\x1b\\", "\x9b2J", "\u009b31m", "\x00", "\x07", "\b\b\b", "\r", "\n", "\t", "\v", "\f", "\x7f",
	"\u202e", "\u202d", "\u2066", "\u2069", "\u200e", "\u061c", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e",
	"\u2028", "\u2029", "\u0085", "\u00a0", "\u3000", "\u2003", "\u115f", "\u3164", "\uffa0", "\u2800", "\ufe0f", "\U000e0100", "\U000e0041", "\U000f0000", "\uE000",
	strings.Repeat("\u0301", 40), "Z" + strings.Repeat("\u0335\u0300", 20), "\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "\ufffe", "\U0010ffff",
	`\`, `\n`, `""`, " ", "%s%n", "$(reboot)", "`id`", "<script>", "'; --",
}

// fine contains parts of legitimate names.
var fine = []string{"order:42", "库存", "订单：号", "注文", "주문", "заказ", "הזמנה", "طلب", "café", "e\u0301", "Việt", "🔒", "👩🏽", "日本語キー", "x", "{tag}", "a*b?"}

// Hostile returns n different names, the same on every call. They are valid keys.
func Hostile(n int) []string {
	random := rand.New(rand.NewPCG(33, 33)) // a fixed seed
	seen := make(map[string]bool)
	var all []string
	for len(all) < n {
		name := hostile(random)
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

// hostile mixes both lists, because an escape may depend on the character before it.
func hostile(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(4) {
		b.WriteString(fine[random.IntN(len(fine))])
		b.WriteString(nasty[random.IntN(len(nasty))])
	}
	if random.IntN(10) == 0 { // very long, with the hostile part at the end
		return strings.Repeat(fine[random.IntN(len(fine))], 40) + b.String()
	}
	return b.String()
}

// harm contains the ranges of characters that must not reach a terminal, bounds included.
// It does not use package sanitize, so that it finds mistakes there.
var harm = [][2]rune{
	{0, 0x1f}, {0x7f, 0x9f}, {0xa0, 0xa0}, {0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xd800, 0xf8ff}, {0xfe00, 0xfe0f},
	{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0x10ffff},
}

// Tame returns an error if a line contains control or invisible characters.
func Tame(line string) error {
	if !utf8.ValidString(line) {
		return fmt.Errorf("the line is not valid UTF-8")
	}
	marks := 0
	for _, r := range line {
		for _, bounds := range harm {
			if r >= bounds[0] && r <= bounds[1] {
				return fmt.Errorf("the line contains %U", r)
			}
		}
		// These combining marks are the ones that nasty contains.
		if r >= 0x300 && r <= 0x36f {
			marks++
		} else {
			marks = 0
		}
		if marks > 2 {
			return fmt.Errorf("a letter has more than two marks")
		}
	}
	return nil
}
