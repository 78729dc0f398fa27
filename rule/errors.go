package rule

import "strings"

// A ParseError is a mistake in a rule: where it is, and what to write instead.
type ParseError struct {
	At   Pos
	Text string
}

// Error returns "line:col: text".
func (p *ParseError) Error() string { return p.At.String() + ": " + p.Text }

// Errors are the mistakes in a rule, in the order of their places.
type Errors []*ParseError

// Error returns them all, a line each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
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
