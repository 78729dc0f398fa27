package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// notes are kept apart from the locks: there are few, and they have no end.
type notes struct {
	mu   sync.Mutex
	kept map[string]note
}

// A note is a text, how often it was written, and when.
type note struct {
	text    string
	version uint64
	at      int64
}

var _ engine.Notes = (*Engine)(nil)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	if err := admitNote(ctx, name); err != nil {
		return engine.Note{}, err
	}
	e.notes.mu.Lock()
	defer e.notes.mu.Unlock()
	n, ok := e.notes.kept[name]
	if !ok {
		return engine.Note{}, nil
	}
	age := max(0, e.now()-n.at) // the clock may have been set back
	return engine.Note{Text: n.text, Version: n.version, Age: time.Duration(age)}, nil
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if err := admitNote(ctx, name); err != nil {
		return err
	}
	e.notes.mu.Lock()
	defer e.notes.mu.Unlock()
	switch n := e.notes.kept[name]; {
	case n.version == version+1 && n.text == text:
		return nil // by a call whose answer was lost
	case n.version != version:
		return fmt.Errorf("memory: %q is at version %d, not %d: read it again: %w", name, n.version, version, engine.ErrConflict)
	}
	if e.notes.kept == nil {
		e.notes.kept = make(map[string]note)
	}
	e.notes.kept[name] = note{text: text, version: version + 1, at: e.now()}
	return nil
}

var errNameless = errors.New("memory: a note needs a name: give it one")

func admitNote(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if name == "" {
		return errNameless
	}
	return nil
}
