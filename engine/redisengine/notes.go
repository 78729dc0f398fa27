package redisengine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Notes = (*Engine)(nil)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	key, err := e.checkNote(ctx, name)
	if err != nil {
		return engine.Note{}, err
	}
	c := e.call(readNoteScript)
	defer c.free()
	c.keys(noteKey(key))
	reply, err := e.eval(ctx, c)
	if err == nil && len(reply.List) != 3 {
		err = fmt.Errorf("the reply has %d items, want 3", len(reply.List))
	}
	if err != nil {
		return engine.Note{}, e.explain(ctx, key, readNoteScript, err)
	}
	return engine.Note{
		Version: uint64(reply.List[0].Int), Text: reply.List[1].Text, Age: time.Duration(reply.List[2].Int) * time.Microsecond,
	}, nil
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	key, err := e.checkNote(ctx, name)
	if err != nil {
		return err
	}
	c := e.call(writeNoteScript)
	defer c.free()
	c.keys(noteKey(key))
	c.args(text, strconv.FormatUint(version, 10))
	reply, err := e.eval(ctx, c)
	switch {
	case err != nil:
		return e.explain(ctx, key, writeNoteScript, err)
	case reply.Int == 0:
		return fail(key, fmt.Sprintf("the note is no longer at version %d: read it again", version), engine.ErrConflict)
	}
	return nil
}

// checkNote returns the key of a note, or an error if it cannot be used.
func (e *Engine) checkNote(ctx context.Context, name string) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	return e.name(name)
}
