package zookeeper

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

// maxKey is the longest key, in bytes. Each byte may need three in the name of a node, and
// a transaction has several such names.
const maxKey = 4 << 10

// checkKey refuses a key that cannot be used.
func (e *Engine) checkKey(ctx context.Context, key string) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if key == "" || len(key) > maxKey {
		return fmt.Errorf("zookeeper: the key has %d bytes: use 1 to %d", len(key), maxKey)
	}
	return nil
}

// check refuses a call with invalid arguments, or a key that cannot be used.
func (e *Engine) check(ctx context.Context, key string, invalid error) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if invalid != nil {
		return keystate.Named("zookeeper", invalid)
	}
	return e.checkKey(ctx, key)
}
