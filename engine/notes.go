package engine

import (
	"context"
	"errors"
	"time"
)

// Notes are short texts that all clients of an engine share. They do not expire.
type Notes interface {
	// ReadNote returns a note. A note that was never written is empty and has
	// version zero.
	ReadNote(ctx context.Context, name string) (Note, error)

	// WriteNote replaces the text of a note that has the given version. Otherwise
	// it fails with [ErrConflict]. Repeated with the same text after a lost
	// reply, it succeeds and does not change the age.
	WriteNote(ctx context.Context, name, text string, version uint64) error
}

// A Note is a text that all clients of an engine share.
type Note struct {
	Text    string
	Version uint64        // how often it was written
	Age     time.Duration // since it was last written, by the engine's clock; never below zero
}

// ErrConflict reports a note that another client has written meanwhile.
var ErrConflict = errors.New("engine: another client has written the note meanwhile")
