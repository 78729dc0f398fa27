package weave

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// An Error is a mistake in a directive with its position.
type Error struct {
	Pos token.Position
	Msg string // the mistake and its correction
}

// Error returns file:line:col: message, as compilers do.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Pos, e.Msg) }

// Errors are all mistakes, in source order.
type Errors []*Error

// Error returns one mistake per line.
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

// err returns l sorted, or nil if it is empty.
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

// A CachedError means that a module in the module cache has directives. An overlay cannot
// replace files in the module cache.
type CachedError struct{ Module string }

// Error implements error.
func (e *CachedError) Error() string {
	return "weave: " + e.Module + " has directives and is in the module cache, which go does not let an overlay change: build with interlock go, with -toolexec='interlock weave', or vendor the module (go mod vendor)"
}
