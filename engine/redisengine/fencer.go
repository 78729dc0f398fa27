package redisengine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Fencer = (*Engine)(nil)

// Raise implements [engine.Fencer].
func (e *Engine) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	name, err := e.checkRequest(ctx, &r)
	if err != nil {
		return err
	}
	if r.Kind != engine.Exclusive && r.Kind != engine.Fair {
		return fmt.Errorf("redis: %q: the fence of a %s lock cannot be raised: %w", r.Key, r.Kind, errors.ErrUnsupported)
	}
	// Only exclusive and fair locks have the format that raise_fence.lua changes.
	c := e.call(raiseFenceScript)
	defer c.free()
	c.keys(name, fenceCounter(name))
	c.args(r.Holder, r.Attempt, strconv.FormatUint(fence, 10), strconv.FormatUint(r.FenceReserve, 10), e.counterLife(r.Lease))
	reply, err := e.eval(ctx, c)
	switch {
	case err != nil:
		return e.explain(ctx, name, raiseFenceScript, err)
	case reply.Int == 0:
		return engine.ErrNotHolder
	}
	return nil
}
