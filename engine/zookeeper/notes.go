package zookeeper

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

var _ engine.Notes = (*Engine)(nil)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	if err := e.checkNote(ctx, name); err != nil {
		return engine.Note{}, err
	}
	return ask[engine.Note](ctx, e, keystate.Notes, name, keystate.Command{Do: keystate.DoReadNote})
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if err := e.checkNote(ctx, name); err != nil {
		return err
	}
	_, err := e.run(ctx, keystate.Notes, name, keystate.Command{Do: keystate.DoWriteNote, Text: []byte(text), Version: version})
	return err
}

// checkNote refuses a note without a name.
func (e *Engine) checkNote(ctx context.Context, name string) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if name == "" {
		return errors.New("zookeeper: a note needs a name")
	}
	return nil
}
