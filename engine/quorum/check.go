package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// check refuses a request that no node should get.
func (e *Engine) check(ctx context.Context, r *engine.Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case r.Key == "" || r.Holder == "" || r.Attempt == "" || r.Lease <= 0:
		return fmt.Errorf("quorum: incomplete request for %q: set its Key, Holder, Attempt and a Lease above zero", r.Key)
	case r.Kind != engine.Exclusive:
		return fmt.Errorf("quorum: %q: %s locks are not supported on a quorum; use a single engine: %w",
			r.Key, r.Kind, errors.ErrUnsupported)
	}
	return nil
}

// checkLease is check for a request with a lease. A restarted node counts again after
// LongestLease, so no lease may be longer.
func (e *Engine) checkLease(ctx context.Context, r *engine.Request) error {
	if err := e.check(ctx, r); err != nil {
		return err
	}
	if e.longest > 0 && r.Lease > e.longest {
		return fmt.Errorf("quorum: %q: a lease of %v is longer than the limit of %v: "+
			"shorten it, or use quorum.LongestLease(%v) in every process", r.Key, r.Lease, e.longest, r.Lease)
	}
	return nil
}

// acquireTimeout is how long the nodes may take to grant a lease. A tenth leaves enough
// of the lease for win; see minLeft. A round trip needs at least 1ms.
func (e *Engine) acquireTimeout(lease time.Duration) time.Duration {
	return min(e.timeout, max(lease/10, time.Millisecond))
}

// detached returns a context that does not end with the caller's: a call to a node
// continues after the caller has its answer.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
