package rule

import "strings"

// A ParseError is a mistake in a rule, with its position. The text suggests a correction.
type ParseError struct {
	At   Pos
	Text string
}

// Error returns "line:col: text".
func (p *ParseError) Error() string { return p.At.String() + ": " + p.Text }

// Errors are the mistakes in a rule, ordered by position.
type Errors []*ParseError

// Error returns all mistakes, one per line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns e as an error, or nil if it is empty.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}
