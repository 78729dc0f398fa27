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
	// RenewalsPerLease is how often a lease is renewed before it would expire.
	RenewalsPerLease = 3

	// MaxBatch is the most leases renewed with one engine call.
	MaxBatch = 1000

	// MinLease is the shortest lease. A shorter one expires before the reply
	// arrives.
	MinLease = 10 * time.Millisecond

	maxPause = time.Second // the longest pause after a failed renewal
)

// A batchKey groups the leases that are renewed with one call. They have the same shard
// and the same timeout, so that a short lease does not shorten the call of a long one.
type batchKey struct {
	shard   int
	timeout time.Duration
}

// A batch collects the leases for the next call.
type batch struct{ waiting []Leased }

// enqueue adds a lease to the next batch of its shard.
func (w *Watchdog) enqueue(l *Lease) {
	l.renewing = true
	key := batchKey{timeout: min(detach.Timeout, max(l.life/RenewalsPerLease, MinLease))}
	if w.config.Shard != nil {
		key.shard = w.config.Shard(l.key)
	}
	if b := w.pending[key]; b != nil {
		b.waiting = append(b.waiting, l.leased)
		return
	}
	b := &batch{waiting: []Leased{l.leased}}
	w.pending[key] = b
	w.config.Spawn(func() { w.send(key, b) })
}

// send renews the queued leases of one shard, call after call, until none is
// left.
func (w *Watchdog) send(key batchKey, b *batch) {
	for {
		w.mu.Lock()
		batch := b.waiting
		if len(batch) == 0 {
			delete(w.pending, key)
			w.mu.Unlock()
			return
		}
		if len(batch) > MaxBatch {
			batch = batch[:MaxBatch]
		}
		b.waiting = b.waiting[len(batch):]
		w.mu.Unlock()
		w.renew(batch, key.timeout)
	}
}

// renew renews a batch with one call.
func (w *Watchdog) renew(batch []Leased, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	sent := time.Now()
	errs := w.config.Renew(ctx, batch)
	cancel()

	w.mu.Lock()
	for i, x := range batch {
		l := x.Watched()
		l.renewing = false
		if l.index < 0 || errors.Is(errs[i], engine.ErrNotHolder) {
			continue // released meanwhile, or gone; the loop below handles leases that are gone
		}
		l.record(sent, errs[i])
		w.reorder(l, time.Now())
	}
	w.arm()
	w.mu.Unlock()

	for i, x := range batch {
		if errors.Is(errs[i], engine.ErrNotHolder) {
			x.Gone(errs[i])
			w.Remove(x) // no effect if Gone has removed it
		}
	}
	for i, x := range batch {
		if !errors.Is(errs[i], engine.ErrNotHolder) {
			x.Renewed(errs[i])
		}
	}
}

// record notes the result of a renewal. A failed renewal is retried until the lease
// expires, whatever the error.
func (l *Lease) record(sent time.Time, err error) {
	if err == nil {
		l.failures = 0
		l.schedule(sent)
		l.Trust(l.later(SafeUntil(sent, l.life)))
		return
	}
	l.failures++
	if !l.terms.Explicit {
		pause := backoff.Pause(l.life/30, maxPause, int(l.failures))
		l.renew = l.clock.mono(time.Now().Add(max(pause, time.Millisecond)))
	}
}
