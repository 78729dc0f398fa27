package rule

import (
	"fmt"
	"strings"
)

// A Pos is a position in a text. Line and Col count from 1, columns in bytes.
type Pos struct{ Line, Col int }

// String returns "line:col".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// A Word is a text with its position.
type Word struct {
	Text string
	At   Pos
}

// An Option is a name and a value, as in wait=3s. Without an equals sign it has no
// value, and Bare is set.
type Option struct {
	Name, Value Word
	Bare        bool
}

// Split splits the text after the verb of a directive, which begins at the given
// position. A value ends at the first space outside brackets and quotes. Two slashes
// after a space begin a comment.
func Split(text string, at Pos) ([]Option, Errors) {
	var (
		options []Option
		errs    Errors
	)
	for i := 0; i < len(text); {
		if blank(text[i]) {
			i++
			continue
		}
		if strings.HasPrefix(text[i:], "//") {
			break
		}
		n, open := extent(text[i:])
		pos := Pos{at.Line, at.Col + i}
		if open != 0 {
			errs = append(errs, &ParseError{pos, fmt.Sprintf("%s: the %c is not closed", shorten(text[i:i+n]), open)})
		}
		options = append(options, option(text[i:i+n], pos))
		i += n
	}
	return options, errs
}

// option splits name=value.
func option(text string, at Pos) Option {
	name, value, found := strings.Cut(text, "=")
	return Option{
		Name:  Word{name, at},
		Value: Word{value, Pos{at.Line, at.Col + len(name) + 1}},
		Bare:  !found,
	}
}

// extent returns the length of the option at the start of text, and a bracket or quote
// in it that is not closed, or zero.
func extent(text string) (n int, open byte) {
	var closers, opened []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"' || c == '\'' || c == '`':
			end := quoted(text[i:])
			if end == 0 {
				return len(text), c
			}
			i += end - 1
		case strings.IndexByte("([{", c) >= 0:
			closers, opened = append(closers, matching(c)), append(opened, c)
		case len(closers) > 0 && c == closers[len(closers)-1]:
			closers, opened = closers[:len(closers)-1], opened[:len(opened)-1]
		case blank(c) && len(closers) == 0:
			return i, 0
		}
	}
	if len(opened) > 0 {
		return len(text), opened[0]
	}
	return len(text), 0
}

// quoted returns the length of the literal at the start of text, or zero if it is not
// closed.
func quoted(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i + 1
		case text[i] == '\\' && quote != '`':
			i++
		}
	}
	return 0
}

func matching(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// parts splits a list of Go expressions at its commas.
func parts(list string) []string {
	var found []string
	for start, i := 0, 0; ; {
		n := i + comma(list[i:])
		found = append(found, list[start:n])
		if n == len(list) {
			return found
		}
		start, i = n+1, n+1
	}
}

// comma returns the offset of the first comma outside brackets and quotes, or the
// length of text.
func comma(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\'' || c == '`':
			end := quoted(text[i:])
			if end == 0 {
				return len(text)
			}
			i += end - 1
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(text)
}

// shorten shortens a value for a message.
func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
