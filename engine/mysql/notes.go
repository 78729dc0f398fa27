package mysql

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/keystate"
)

// ReadNote implements [engine.Notes].
func (e *Engine) ReadNote(ctx context.Context, name string) (engine.Note, error) {
	if err := e.check(ctx, name, nil); err != nil {
		return engine.Note{}, err
	}
	return read[engine.Note](ctx, e, keystate.Notes, name, keystate.Command{Do: keystate.DoReadNote})
}

// WriteNote implements [engine.Notes].
func (e *Engine) WriteNote(ctx context.Context, name, text string, version uint64) error {
	if err := e.check(ctx, name, nil); err != nil {
		return err
	}
	_, err := e.run(ctx, keystate.Notes, name, keystate.Command{Do: keystate.DoWriteNote, Text: []byte(text), Version: version})
	return err
}
