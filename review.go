package interlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// heed listens, while there are leases, for locks that an operator takes away. If
// it has heard something, it returns all leases for review. The renewer's timer
// calls it twice a second, so that listening needs no goroutine.
func (r *renewer) heed() []*lease {
	i := r.core.caps.Inspector
	if i == nil || len(r.leases) == 0 {
		return nil
	}
	if !r.ear.open() {
		r.ear.wake, r.ear.stop = i.Watch(r.core.id)
		return slices.Clone(r.leases) // something may have been taken before
	}
	select {
	case <-r.ear.wake:
		return slices.Clone(r.leases)
	default:
		return nil
	}
}

// review asks the engine which of some leases are still there, and ends those
// that are not. It prolongs none.
func (r *renewer) review(leases []*lease) {
	for batch := range slices.Chunk(leases, mostRenewed) {
		reqs := make([]engine.Request, len(batch))
		for i, l := range batch {
			reqs[i] = l.req
			reqs[i].Lease = time.Millisecond // a renewal never shortens a lease
		}
		ctx, cancel := context.WithTimeout(context.Background(), detached)
		errs := r.core.engine.Renew(ctx, reqs)
		cancel()
		for i, l := range batch {
			if errors.Is(errs[i], engine.ErrNotHolder) {
				l.lose(reasonGone(errs[i]))
			}
		}
	}
}

// reasonGone returns why a lock was lost that the engine does not know any more.
func reasonGone(err error) error {
	if errors.Is(err, engine.ErrRevoked) {
		return ErrRevoked
	}
	return ErrNotHolder
}
