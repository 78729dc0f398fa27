package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/rule"
)

// A ParseError is a mistake in a file: where it is, and what to write instead.
type ParseError struct {
	File    string
	At      rule.Pos
	Code    Code
	Text    string // what is wrong
	Hint    string // what to write instead
	Excerpt string // the line, or nothing if there is none
}

// A Code says what sort of mistake it is. Codes do not change.
type Code string

// The codes.
const (
	Syntax       Code = "syntax"        // it is not YAML
	Unsupported  Code = "unsupported"   // it is YAML that is not read here: anchors, tags, several documents
	UnknownField Code = "unknown-field" // there is no such field
	Duplicate    Code = "duplicate"     // it is there twice
	WrongType    Code = "wrong-type"    // a list where a text belongs, and the like
	Missing      Code = "missing"       // something is needed and not there
	BadValue     Code = "bad-value"     // it is written wrongly, or out of bounds
	Conflict     Code = "conflict"      // two things do not go together
	BadOption    Code = "bad-option"    // package rule refuses an option of a rule
	BadKey       Code = "bad-key"       // the template of a key is wrong
	Unset        Code = "unset"         // an environment variable is not set
)

// Error returns "file:line:col: text", and what to write instead on the same line.
func (m *ParseError) Error() string {
	s := fmt.Sprintf("%s:%s: %s", m.File, m.At, m.Text)
	if m.Hint != "" {
		s += ": " + m.Hint
	}
	return s
}

// Show returns the mistake over several lines, with the line it is in and a caret
// under the place.
func (m *ParseError) Show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%s: %s\n", m.File, m.At, m.Text)
	if m.Excerpt != "" {
		number := fmt.Sprint(m.At.Line)
		line, caret := m.excerpt()
		fmt.Fprintf(&b, "  %s | %s\n", number, line)
		fmt.Fprintf(&b, "  %s | %s^\n", strings.Repeat(" ", len(number)), caret)
	}
	if m.Hint != "" {
		fmt.Fprintf(&b, "  %s\n", m.Hint)
	}
	return b.String()
}

// maxExcerpt bounds how much of a line is shown, in bytes.
const maxExcerpt = 120

// excerpt returns the line as it is safe to show, and what brings a caret under the
// place: a character that is twice as wide gets two spaces.
func (m *ParseError) excerpt() (line, caret string) {
	var l, c strings.Builder
	for i, r := range m.Excerpt {
		if l.Len() > maxExcerpt {
			l.WriteString("…")
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) { // a tab, an escape, or what turns text around
			r = ' '
		}
		l.WriteRune(r)
		if i < m.At.Col-1 {
			c.WriteByte(' ')
			if wide(r) {
				c.WriteByte(' ')
			}
		}
	}
	return l.String(), c.String()
}

// wide tells whether a terminal gives a character two columns: those of East Asia,
// roughly.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff
}

// Errors are the mistakes in a file, in the order of their places.
type Errors []*ParseError

// Error returns them all, a line each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, m := range e {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns e as an error, which is nil if there is no mistake.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// sort puts them in order, and leaves out what is said twice of one place.
func (e Errors) sort() Errors {
	slices.SortStableFunc(e, func(a, b *ParseError) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col))
	})
	return slices.CompactFunc(e, func(a, b *ParseError) bool { return a.At == b.At && a.Text == b.Text })
}
