package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Fencer = (*Engine)(nil)

// Raise implements [engine.Fencer].
func (e *Engine) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	if err := checkRequest(&r); err != nil {
		return err
	}
	// Locks of other families have several holders, and each has a fence of its own.
	if family(r.Kind) != engine.Exclusive {
		return fmt.Errorf("postgres: %q: the fence of a %s lock cannot be raised: %w", r.Key, r.Kind, errors.ErrUnsupported)
	}
	if err := errors.Join(checkFence(r.Key, fence), checkFence(r.Key, r.FenceReserve)); err != nil {
		return err
	}
	s := e.call("raise", r.Key, []byte(r.Key), []byte(r.Holder), []byte(r.Attempt), int64(fence), int64(r.FenceReserve), e.wait())
	var code int64
	if err := e.row(ctx, s, &code); err != nil {
		return err
	}
	return renewError(s, code)
}
