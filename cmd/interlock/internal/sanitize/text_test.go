package sanitize_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/cmd/interlock/internal/i18n"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize"
	"github.com/interlock-go/interlock/cmd/interlock/internal/sanitize/sanitizetest"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a plain key", "order:42", "order:42"},
		{"words", "stock of sku 9", "stock of sku 9"},
		{"Chinese", "订单：42", "订单：42"},
		{"letters with marks", "Việt e\u0301", "Việt e\u0301"},
		{"an emoji", "🔒", "🔒"},
		{"right to left", "הזמנה", "הזמנה"},
		{"an empty text", "", `""`},
		{"a text that looks like an empty one", `""`, `\"\"`},
		{"an escape sequence", "a\x1b[2Jb", `a\x1b[2Jb`},
		{"an escape sequence in one character", "a\u009b2J", `a\u009b2J`},
		{"line breaks and tabs", "a\nb\tc\rd", `a\nb\tc\x0dd`},
		{"a backslash", `a\nb`, `a\\nb`},
		{"a direction override", "a\u202eb", `a\u202eb`},
		{"zero-width characters", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"a no-break space", "a\u00a0b", `a\u00a0b`},
		{"spaces at the ends", " a ", `\x20a\x20`},
		{"blank letters", "a\u3164\u2800", `a\u3164\u2800`},
		{"invalid UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"a private character", "\ue000\U000f0000", `\ue000\U000f0000`},
		{"many marks", "e\u0301\u0301\u0301", "e\u0301\u0301\\u0301"},
		{"a mark without a letter", "\u0301", `\u0301`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sanitize.Text(c.text); got != c.want {
				t.Errorf("Text(%q) = %s, want %s", c.text, got, c.want)
			}
			if got, want := sanitize.Readable(c.text), c.text == c.want; got != want {
				t.Errorf("Readable(%q) = %v, want %v", c.text, got, want)
			}
		})
	}
}

// Security item 33: hostile names are printed without control characters, aligned, and
// no two look the same.
func TestHostileNamesArePrintedSafely(t *testing.T) {
	names := sanitizetest.Hostile(500)
	looks := make(map[string]string)
	var rows [][]string
	for _, name := range names {
		text := sanitize.Text(name)
		if err := sanitizetest.Tame(text); err != nil {
			t.Errorf("%q is printed as %q: %v", name, text, err)
		}
		if earlier, taken := looks[text]; taken {
			t.Errorf("%q and %q look the same: %s", name, earlier, text)
		}
		looks[text] = name
		data, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		safe, read := sanitize.JSON(data), ""
		if err := sanitizetest.Tame(string(safe)); err != nil {
			t.Errorf("%q is encoded as %s in JSON: %v", name, safe, err)
		}
		if err := json.Unmarshal(safe, &read); err != nil || read != string([]rune(name)) {
			t.Errorf("%q is decoded from JSON as %q, %v", name, read, err)
		}
		short := sanitize.Short(name, 64)
		if err := sanitizetest.Tame(short); err != nil {
			t.Errorf("%q is shortened to %q: %v", name, short, err)
		}
		if n := i18n.Width(short); n > 64 {
			t.Errorf("%q is shortened to %d columns, want at most 64", name, n)
		}
		rows = append(rows, []string{short, "|"})
	}
	for _, line := range sanitize.Table(rows) {
		before, _, _ := strings.Cut(line, "|")
		if n := i18n.Width(before); n != 66 {
			t.Errorf("the second column begins at %d in %q, want 66", n, line)
		}
	}
}

func TestShortKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"order:42", 8, "order:42"},
		{"order:423", 8, "ord…:423"},
		{"订单订单订单", 8, "订…订单"},
		{strings.Repeat("x", 500) + ":7", 9, "xxxx…xx:7"},
	} {
		if got := sanitize.Short(c.text, c.width); got != c.want {
			t.Errorf("Short(%q, %d) = %s, want %s", c.text, c.width, got, c.want)
		}
	}
}

func TestTableAlignsWideCharacters(t *testing.T) {
	got := strings.Join(sanitize.Table([][]string{{"KEY", "LEFT"}, {"库存", "1s"}, {"🔒", "2s"}, {"e\u0301", ""}}), "\n")
	const want = "KEY   LEFT\n库存  1s\n🔒    2s\ne\u0301"
	if got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
}
