package mysql

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/keystate"
)

// usable returns an error if ctx is done or the engine is closed.
func (e *Engine) usable(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return cause(ctx)
	case e.isClosing():
		return errClosed
	}
	return nil
}

// isClosing reports whether Close was called.
func (e *Engine) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// maxKey is the longest key, in bytes: the column has the type blob.
const maxKey = 1<<16 - 1

// check refuses a call with invalid arguments, or a key that cannot be used.
func (e *Engine) check(ctx context.Context, key string, invalid error) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if invalid != nil {
		return keystate.Named(name, invalid)
	}
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("mysql: the key has %d bytes: use 1 to %d", len(key), maxKey)
	}
	return nil
}
