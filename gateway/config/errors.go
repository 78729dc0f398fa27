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

// A ParseError is a mistake in a file, with its position and a way to correct it.
type ParseError struct {
	File    string
	At      rule.Pos
	Code    Code
	Text    string // the mistake
	Hint    string // how to correct it
	Excerpt string // the line, without passwords; empty if the file has no such line
}

// A Code is the kind of a mistake. Programs may rely on codes: they do not change.
type Code string

// The codes.
const (
	Syntax       Code = "syntax"        // the file is not YAML
	Unsupported  Code = "unsupported"   // YAML that this package refuses: anchors, tags, several documents
	UnknownField Code = "unknown-field" // no field has this name
	Duplicate    Code = "duplicate"     // the same thing occurs twice
	WrongType    Code = "wrong-type"    // such as a list in place of a text
	Missing      Code = "missing"       // a required field or value is missing
	BadValue     Code = "bad-value"     // the value is malformed or out of range
	Conflict     Code = "conflict"      // two settings contradict each other
	BadOption    Code = "bad-option"    // package rule refuses an option of a rule
	BadKey       Code = "bad-key"       // the template of a key is wrong
	Unset        Code = "unset"         // an environment variable is not set
)

// Error returns "file:line:col: text: hint".
func (m *ParseError) Error() string {
	s := fmt.Sprintf("%s:%s: %s", m.File, m.At, m.Text)
	if m.Hint != "" {
		s += ": " + m.Hint
	}
	return s
}

// Show returns the mistake on several lines, with an excerpt of the file and a caret
// under the position.
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

// maxExcerpt bounds the excerpt, in bytes.
const maxExcerpt = 120

// excerpt returns the line without characters that could confuse a terminal, and the
// spaces before the caret: two below a character that is two columns wide.
func (m *ParseError) excerpt() (line, caret string) {
	var l, c strings.Builder
	for i, r := range m.Excerpt {
		if l.Len() > maxExcerpt {
			l.WriteString("…")
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) { // a tab, an escape, or a bidirectional control
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

// wide reports whether a terminal shows a character two columns wide. It covers the East
// Asian scripts and emoji, not every character of that width.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff
}

// Errors are the mistakes in a file, ordered by position.
// Use Err to return Errors as an error: an empty Errors in an error interface is not nil.
type Errors []*ParseError

// Error returns all mistakes, one per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, m := range e {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns e as an error; nil if e is empty.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// sort orders the mistakes by position, and removes repetitions: a mistake in a preset is
// found by each rule that uses it.
func (e Errors) sort() Errors {
	slices.SortStableFunc(e, func(a, b *ParseError) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col))
	})
	return slices.CompactFunc(e, func(a, b *ParseError) bool { return a.At == b.At && a.Text == b.Text })
}
