package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Raise implements [engine.Fencer].
func (e *Engine) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	if err := checkRequest(ctx, r); err != nil {
		return err
	}
	// Locks of other families have several holders, and each has a fence of its own.
	if family(r.Kind) != engine.Exclusive {
		return fmt.Errorf("memory: the fence of a %s lock cannot be raised: %w", r.Kind, errors.ErrUnsupported)
	}
	s, now := e.lockShard(r.Key)
	defer s.mu.Unlock()
	h := s.lockAt(r.Key, now).holdOfAttempt(r)
	if h == nil {
		return engine.ErrNotHolder
	}
	h.fence = max(h.fence, fence)
	// Later grants of the shard must stay above the raised fence and its reserve.
	s.lastFence = max(s.lastFence, h.fence+r.FenceReserve)
	return nil
}
