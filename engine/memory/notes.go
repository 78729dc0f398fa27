package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// notes are stored apart from the locks: there are few, and they do not expire.
type notes struct {
	mu     sync.Mutex // guards byName
	byName map[string]note
}

// A note is a text with its version and time.
type note struct {
	text    string
	version uint64 // rises by one with each write
	at      int64  // when it was written, in nanoseconds of the engine's clock
}

var _ engine.Notes = (*Engine)(nil)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	if err := checkNote(ctx, name); err != nil {
		return engine.Note{}, err
	}
	e.notes.mu.Lock()
	defer e.notes.mu.Unlock()
	n, ok := e.notes.byName[name]
	if !ok {
		return engine.Note{}, nil
	}
	age := max(0, e.now()-n.at) // the clock may have been set back
	return engine.Note{Text: n.text, Version: n.version, Age: time.Duration(age)}, nil
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if err := checkNote(ctx, name); err != nil {
		return err
	}
	e.notes.mu.Lock()
	defer e.notes.mu.Unlock()
	switch n := e.notes.byName[name]; {
	case n.version == version+1 && n.text == text:
		return nil // an earlier call wrote it, and its reply was lost
	case n.version != version:
		return fmt.Errorf("memory: note %q has version %d, not %d; read it again: %w", name, n.version, version, engine.ErrConflict)
	}
	if e.notes.byName == nil {
		e.notes.byName = make(map[string]note)
	}
	e.notes.byName[name] = note{text: text, version: version + 1, at: e.now()}
	return nil
}

var errNoName = errors.New("memory: a note needs a name")

// checkNote refuses a note without a name.
func checkNote(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if name == "" {
		return errNoName
	}
	return nil
}
