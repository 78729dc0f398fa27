package interlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// revocations finds out which locks of a client operators have released by
// force. It listens while the client has leases. The watchdog's timer polls it
// twice a second, so it needs no goroutine.
type revocations struct {
	core *core
	mu   sync.Mutex
	sub  subscription
}

// poll reports whether a lock may have been revoked since the last call.
func (r *revocations) poll() bool {
	i := r.core.caps.Inspector
	if i == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sub.active() {
		r.sub.wake, r.sub.stop = i.Watch(r.core.id)
		return true // a lock may have been revoked before we listened
	}
	select {
	case <-r.sub.wake:
		return true
	default:
		return false
	}
}

func (r *revocations) unsubscribe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sub.unsubscribe()
}

// review asks the engine which leases it still knows, and ends the others. It
// extends none: it asks for 1 ms, and a renewal never shortens a lease.
func (r *revocations) review(leases []watchdog.Leased) {
	for batch := range slices.Chunk(leases, watchdog.MaxBatch) {
		reqs := requests(batch)
		for i := range reqs {
			reqs[i].Lease = time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), detach.Timeout)
		errs := r.core.engine.Renew(ctx, reqs)
		cancel()
		for i, x := range batch {
			if errors.Is(errs[i], engine.ErrNotHolder) {
				x.Gone(errs[i])
			}
		}
	}
}
