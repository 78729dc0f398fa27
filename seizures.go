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

// seizures are what operators do to the locks of a client: take them away. It
// listens while there are leases. The watchdog's timer makes it do so twice a
// second, so that listening needs no goroutine.
type seizures struct {
	core *core
	mu   sync.Mutex
	ear  ear
}

// heed tells whether something may have been taken since it was last asked.
func (s *seizures) heed() bool {
	i := s.core.caps.Inspector
	if i == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ear.open() {
		s.ear.wake, s.ear.stop = i.Watch(s.core.id)
		return true // something may have been taken before
	}
	select {
	case <-s.ear.wake:
		return true
	default:
		return false
	}
}

// ignore stops listening.
func (s *seizures) ignore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ear.close()
}

// review asks the engine which of some leases are still there, and ends those
// that are not. It prolongs none.
func (s *seizures) review(wards []watchdog.Ward) {
	for batch := range slices.Chunk(wards, watchdog.MostRenewed) {
		reqs := requests(batch)
		for i := range reqs {
			reqs[i].Lease = time.Millisecond // a renewal never shortens a lease
		}
		ctx, cancel := context.WithTimeout(context.Background(), detach.Detached)
		errs := s.core.engine.Renew(ctx, reqs)
		cancel()
		for i, x := range batch {
			if errors.Is(errs[i], engine.ErrNotHolder) {
				x.Gone(errs[i])
			}
		}
	}
}

// reasonGone returns why a lock was lost that the engine does not know any more.
func reasonGone(err error) error {
	if errors.Is(err, engine.ErrRevoked) {
		return ErrRevoked
	}
	if errors.Is(err, engine.ErrSwitched) {
		return ErrSwitched
	}
	return ErrNotHolder
}
