package keystate

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A RefusalError is an answer to a command that no waiting helps. Its text does not name the
// engine, which adds its name.
type RefusalError struct{ error }

// Unwrap returns what the refusal matches.
func (r RefusalError) Unwrap() error { return r.error }

func refusal(format string, args ...any) error { return RefusalError{fmt.Errorf(format, args...)} }

// abandonedError is the error of an attempt that met its tombstone.
func abandonedError(key string) error {
	return refusal("%q: the attempt was abandoned before it arrived: %w", key, engine.ErrAbandoned)
}

// kindError is the error of a key that holds another family of locks.
func kindError(key string, has, asked engine.Kind) error {
	return refusal("%q holds a lock of the kind %s, and %s was requested; use another key: %w", key, has, asked, engine.ErrKind)
}

// notLockError is the error of inspecting a latch.
func notLockError(key string) error {
	return refusal("%q holds a latch, not a lock: %w", key, engine.ErrKind)
}

// upgradeError is the error of a reader that requests the write lock.
func upgradeError(key string) error {
	return refusal("%q: a reader cannot acquire the write lock, it would wait for itself: "+
		"release the read lock first, or begin with the write lock: %w", key, engine.ErrUpgrade)
}

// fullError is the error of a reader beyond MaxReaders.
func fullError(key string) error {
	return refusal("%q has %d readers, which is the limit; retry when one has finished: %w", key, engine.MaxReaders, engine.ErrFull)
}

// mismatchError is the error of a claim with another fingerprint.
func mismatchError(key string) error { return refusal("%q: %w", key, engine.ErrMismatch) }

// conflictError is the error of a note that another client has written meanwhile.
func conflictError(name string, has, asked uint64) error {
	return refusal("note %q has version %d, not %d; read it again: %w", name, has, asked, engine.ErrConflict)
}

// unknownCommand is the answer to a command that this version does not know.
func unknownCommand(c *Command) error {
	return refusal("the command %q is unknown: update the program", c.Do)
}
