package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
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

// checkRequest refuses an invalid request.
func (e *Engine) checkRequest(ctx context.Context, r *engine.Request) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if r.Key == "" || r.Holder == "" || r.Attempt == "" || r.Lease <= 0 {
		return incompleteError(r)
	}
	return e.checkKey(ctx, r.Key)
}

// checkAcquire is checkRequest for Acquire.
func (e *Engine) checkAcquire(ctx context.Context, r *engine.Request) error {
	switch {
	case r.Kind >= engine.Latch:
		return fmt.Errorf("zookeeper: a %s has no holder: count down the latch at %q instead", r.Kind, r.Key)
	case r.Kind == engine.Permit && r.Limit <= 0:
		return limitError(r)
	}
	return e.checkRequest(ctx, r)
}

// checkCountDown refuses an invalid count, which needs neither holder nor attempt.
func (e *Engine) checkCountDown(ctx context.Context, r *engine.Request) error {
	switch {
	case r.Limit <= 0:
		return limitError(r)
	case r.Lease <= 0:
		return fmt.Errorf("zookeeper: the count for %q has no lease: set a Lease above zero", r.Key)
	}
	return e.checkKey(ctx, r.Key)
}

// limitError is the error of a semaphore or latch that no request could ever pass.
func limitError(r *engine.Request) error {
	return fmt.Errorf("zookeeper: the %s at %q has a limit of %d: set its Limit to 1 or more", r.Kind, r.Key, r.Limit)
}

// unsupportedFence is the error of raising the fence of a lock with several holders.
func unsupportedFence(k engine.Kind) error {
	return fmt.Errorf("zookeeper: the fence of a %s lock cannot be raised: %w", k, errors.ErrUnsupported)
}
