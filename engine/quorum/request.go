package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// admit tells why a request is not to be sent to any node, if it is not.
func (e *Engine) admit(ctx context.Context, r *engine.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case r.Key == "" || r.Holder == "" || r.Attempt == "" || r.Lease <= 0:
		return fmt.Errorf("quorum: request for %q lacks something: set its Key, Holder, Attempt and a Lease above zero", r.Key)
	case r.Kind != engine.Exclusive:
		return fmt.Errorf("quorum: %q: a quorum has no %s locks, whose order and number no majority knows: use one engine for them: %w",
			r.Key, r.Kind, errors.ErrUnsupported)
	}
	return nil
}

// admitLease is admit for a request to be granted something for a while.
func (e *Engine) admitLease(ctx context.Context, r *engine.Request) error {
	if err := e.admit(ctx, r); err != nil {
		return err
	}
	if e.longest > 0 && r.Lease > e.longest {
		return fmt.Errorf("quorum: %q: a lease of %v is longer than a node that was started anew sits out, %v: "+
			"shorten it, or say quorum.LongestLease(%v) in every process", r.Key, r.Lease, e.longest, r.Lease)
	}
	return nil
}

// patience is how long the nodes may take to grant a lease.
func (e *Engine) patience(lease time.Duration) time.Duration {
	return min(e.bound, max(lease/10, time.Millisecond))
}

// A deadline is a context that ends by itself, and not with its caller's: what is
// on its way to a node is to arrive although the caller has its answer already.
func deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
