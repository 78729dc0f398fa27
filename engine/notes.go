package engine

import (
	"context"
	"errors"
	"time"
)

// Notes are short texts that all clients of an engine see, for as long as it
// keeps anything.
type Notes interface {
	// ReadNote returns a note. One that was never written has no text, at version
	// zero.
	ReadNote(ctx context.Context, name string) (Note, error)

	// WriteNote replaces the text of a note if it was written version times
	// before. Otherwise it fails with [ErrConflict]. Repeated with the same text
	// after an answer was lost, it succeeds, and the note is as old as it was.
	WriteNote(ctx context.Context, name, text string, version uint64) error
}

// A Note is a text that all clients of an engine see.
type Note struct {
	Text    string
	Version uint64        // how often it was written
	Age     time.Duration // since it was last written, by the engine's clock; never below zero
}

// ErrConflict reports a note that somebody else has written meanwhile.
var ErrConflict = errors.New("engine: somebody else has written the note meanwhile")
