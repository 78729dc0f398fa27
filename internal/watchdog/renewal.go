package watchdog

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/detach"
)

const (
	// RenewPart is how many times a lease is renewed before it would end.
	RenewPart = 3

	// MostRenewed bounds one call.
	MostRenewed = 1000

	// LeastLease is the shortest lease there is: less than that is over before
	// a reply is back.
	LeastLease = 10 * time.Millisecond

	mostPause = time.Second // after a renewal that failed
)

// A lane is what leases share that are renewed together: the shard, and how long
// a call may take, so that a short lease does not cut short the call of a long one.
type lane struct {
	shard int
	bound time.Duration
}

// A renewal is a call on its way to one shard, and who waits for the next.
type renewal struct{ waiting []Ward }

// launch sends a lease on its way to be renewed.
func (w *Watchdog) launch(l *Lease) {
	l.flying = true
	way := lane{bound: min(detach.Detached, max(l.life/RenewPart, LeastLease))}
	if w.config.Shard != nil {
		way.shard = w.config.Shard(l.key)
	}
	if f := w.flights[way]; f != nil {
		f.waiting = append(f.waiting, l.ward)
		return
	}
	f := &renewal{waiting: []Ward{l.ward}}
	w.flights[way] = f
	w.config.Spawn(func() { w.fly(way, f) })
}

// fly renews, in one call after the other, whatever waits for it on a shard.
func (w *Watchdog) fly(way lane, f *renewal) {
	for {
		w.mu.Lock()
		batch := f.waiting
		if len(batch) == 0 {
			delete(w.flights, way)
			w.mu.Unlock()
			return
		}
		if len(batch) > MostRenewed {
			batch = batch[:MostRenewed]
		}
		f.waiting = f.waiting[len(batch):]
		w.mu.Unlock()
		w.renew(batch, way.bound)
	}
}

// renew renews a batch with one call.
func (w *Watchdog) renew(batch []Ward, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	sent := time.Now()
	errs := w.config.Renew(ctx, batch)
	cancel()

	w.mu.Lock()
	for i, x := range batch {
		l := x.Watched()
		l.flying = false
		if l.index < 0 || errors.Is(errs[i], engine.ErrNotHolder) {
			continue // released meanwhile, or lost, see below
		}
		l.note(sent, errs[i])
		w.reorder(l, time.Now())
	}
	w.arm()
	w.mu.Unlock()

	for i, x := range batch {
		if errors.Is(errs[i], engine.ErrNotHolder) {
			x.Gone(errs[i])
			w.Remove(x) // unless it has done so itself
		}
	}
	for i, x := range batch {
		if !errors.Is(errs[i], engine.ErrNotHolder) {
			x.Renewed(errs[i])
		}
	}
}

// note takes down what came of a renewal. One that failed is tried again until
// the lease is over, whatever the reason.
func (l *Lease) note(sent time.Time, err error) {
	if err == nil {
		l.tried = 0
		l.schedule(sent)
		l.Trust(l.later(SureUntil(sent, l.life)))
		return
	}
	l.tried++
	if !l.terms.Explicit {
		pause := backoff.Pause(l.life/30, mostPause, int(l.tried))
		l.renew = l.clock.mono(time.Now().Add(max(pause, time.Millisecond)))
	}
}
