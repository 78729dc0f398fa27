package engine

import (
	"context"
	"errors"
)

// Notes are short texts that all clients of an engine see, for as long as it
// keeps anything.
type Notes interface {
	// ReadNote returns the text of a note and how often it was written. One that
	// never was is empty, at zero.
	ReadNote(ctx context.Context, name string) (text string, version uint64, err error)

	// WriteNote replaces the text of a note if it was written version times
	// before. Otherwise it fails with [ErrConflict]. Repeated with the same text
	// after an answer was lost, it succeeds.
	WriteNote(ctx context.Context, name, text string, version uint64) error
}

// ErrConflict reports a note that somebody else has written meanwhile.
var ErrConflict = errors.New("engine: somebody else has written the note meanwhile")
