package weave

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// An Error is a mistake in a directive, and where it is.
type Error struct {
	Pos token.Position
	Msg string // what is wrong and what to write instead
}

// Error returns file:line:col: and the message, as compilers do.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Pos, e.Msg) }

// Errors are all mistakes that were found, in the order of the source.
type Errors []*Error

// Error returns them one to a line.
func (l Errors) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets [errors.As] find a single mistake.
func (l Errors) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

// err returns l in order, or nil if there is no mistake.
func (l Errors) err() error {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
	return l
}

// A CachedError means that a module has directives of which no overlay can be
// made, because it is in the module cache.
type CachedError struct{ Module string }

// Error implements error.
func (e *CachedError) Error() string {
	return "weave: " + e.Module + " has directives and is in the module cache, of which go allows no overlay: build with interlock go or with -toolexec='interlock weave', or have a copy (go mod vendor)"
}
