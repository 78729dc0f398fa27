package interlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/lazyctx"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A lease is a lock held at the engine, however many times it was entered in
// this process. A lease is also the context of its holder, which saves allocations.
// Ownership travels with that context, so no table of goroutines is needed.
type lease struct {
	lazyctx.Context // cancelled when the hold ends

	core  *core
	opts  *options
	outer *lease // the innermost lease that parent carries

	grant
	watch watchdog.Lease
	since time.Time // when this holder got the lock
	first Hold

	traceID string // for the exemplar of the hold

	mu      sync.Mutex
	entries int
	ended   error // ErrReleased or a *LostError; nil while the lock is held
}

func newLease(ctx context.Context, m *Mutex, g grant, now time.Time) *lease {
	l := &lease{core: m.core, opts: &m.opts, grant: g, since: now, entries: 1}
	l.outer, _ = ctx.Value(leaseKey{}).(*lease)
	l.Init(ctx)
	l.first.lease = l
	terms := m.opts.watchdogTerms()
	if m.partOfMulti {
		terms = watchdog.Terms{} // renewed until all locks of the Multi are held
	}
	l.watch.Init(m.core.clock, g.req.Key, g.req.Lease, g.sent, now, terms)
	return l
}

// Value returns the lease itself for this package's key.
func (l *lease) Value(key any) any {
	if _, ok := key.(leaseKey); ok {
		return l
	}
	return l.Context.Value(key)
}

// Err checks the clock, too: a process that was paused sees a lost lock at
// once, before any timer has fired.
func (l *lease) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	if l.watch.Overdue(time.Now()) && !l.lose(ErrExpired) {
		<-l.Done() // another goroutine is about to cancel it
	}
	return l.Context.Err()
}

// live reports whether the lock is held and its lease valid.
func (l *lease) live() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended == nil && !l.watch.Overdue(time.Now())
}

// String names the context in error messages.
func (l *lease) String() string { return fmt.Sprintf("interlock.Hold(%q)", l.req.Key) }

// left returns how long the lease is valid for certain.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	ended := l.ended != nil
	l.mu.Unlock()
	if ended {
		return 0
	}
	return l.watch.Left(time.Now())
}

// enter adds an entry. If the lease has ended, both results are nil, and the caller
// acquires the lock anew.
func (l *lease) enter(reentrant bool) (*Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended != nil || l.watch.Overdue(time.Now()):
		return nil, nil //nolint:nilnil // see above
	case !reentrant:
		return nil, &ContendedError{Key: l.req.Key, Holder: l.req.Holder, Self: true,
			RetryAfter: l.watch.Left(time.Now())}
	}
	l.entries++
	return &Hold{lease: l}, nil
}

// unlock removes one entry, and releases the lock with the last one.
func (l *lease) unlock() error {
	now := time.Now()
	l.mu.Lock()
	l.entries--
	last, lost := l.entries == 0, l.ended != nil || l.watch.Overdue(now)
	if last && !lost {
		l.ended = ErrReleased
	}
	l.mu.Unlock()

	switch {
	case lost:
		return l.unlockLost(last)
	case !last:
		return nil
	}
	l.core.tasks.Begin() // before the watchdog forgets the lease, so that Close always finds a task or a lease to wait for
	defer l.core.tasks.End()
	l.core.watchdog.Remove(l)
	l.End(ErrReleased)
	return l.release(now)
}

// unlockLost removes one entry of a lost lock. The engine may still keep the
// lock for up to one lease; after the last entry no work runs under it, so it is
// released for the waiters.
func (l *lease) unlockLost(last bool) error {
	l.lose(ErrExpired) // no effect if the loss is already recorded
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if last {
		l.core.local.clearHolder(l) // a concurrent lose may not have done so yet, and the caller may retry at once
	}
	if last && (errors.Is(ended, ErrMaxHold) || errors.Is(ended, ErrExpired)) {
		l.core.tasks.Go(func() { _, _ = l.core.release(l.req) })
	}
	return ended
}

// release hands the lock over or releases it at the engine.
func (l *lease) release(now time.Time) error {
	handedOver, outcome, err := l.core.local.release(l)
	held := now.Sub(l.since)
	s, t := l.opts.counters, l.opts.trace
	s.live.Add(-1)
	s.hold.ObserveTraced(held, l.traceID)
	l.core.longest.Add(now, held, func() TopHold { return l.top(now) })
	switch {
	case err != nil:
		l.opts.unreleased(l.Parent(), &l.req, held, err)
		return fmt.Errorf("interlock: release %q: %w; the lease will expire", l.req.Key, err)
	case outcome != engine.Released:
		lost := &LostError{Key: l.req.Key, Fence: l.fence, Err: l.core.lossReason(l.req)}
		s.countLost(lost.Err)
		if t != nil && t.Lost != nil {
			t.Lost(Lost{Context: l.Parent(), Key: l.req.Key, Name: l.opts.business, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Held: held, AtRelease: true, Err: lost.Err})
		}
		return lost
	}
	s.released.Add(1)
	if t != nil && t.Released != nil {
		t.Released(Released{Context: l.Parent(), Key: l.req.Key, Name: l.opts.business, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Held: held, HandedOver: handedOver})
	}
	return nil
}

// lose ends a hold that is no longer safe. It reports whether this call ended
// it.
func (l *lease) lose(why error) bool {
	l.mu.Lock()
	if l.ended != nil {
		l.mu.Unlock()
		return false
	}
	lost := &LostError{Key: l.req.Key, Fence: l.fence, Err: why}
	l.ended = lost
	l.mu.Unlock()

	l.core.watchdog.Remove(l)
	l.End(lost)
	now := time.Now()
	held := now.Sub(l.since)
	s := l.opts.counters
	s.live.Add(-1)
	s.countLost(why)
	s.hold.ObserveTraced(held, l.traceID)
	l.core.longest.Add(now, held, func() TopHold { return l.top(now) })
	if t := l.opts.trace; t != nil && t.Lost != nil {
		e := Lost{Context: l.Parent(), Key: l.req.Key, Name: l.opts.business, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Held: held, Err: why}
		l.core.events.Add(func() { t.Lost(e) })
	}
	l.core.local.clearHolder(l)
	return true
}

// The watchdog calls these methods; see [watchdog.Leased].

func (l *lease) Watched() *watchdog.Lease { return &l.watch }
func (l *lease) Expired()                 { l.lose(ErrExpired) }
func (l *lease) Exceeded()                { l.lose(ErrMaxHold) }
func (l *lease) Gone(err error)           { l.lose(watchdog.LossReason(err, ErrRevoked)) }

// Renewed counts and traces the result of a renewal.
func (l *lease) Renewed(err error) {
	if err == nil {
		l.opts.counters.renewed.Add(1)
	} else {
		l.opts.counters.renewFailed.Add(1)
	}
	if t := l.opts.trace; t != nil && t.Renewed != nil {
		e := Renewed{Key: l.req.Key, Name: l.opts.business, Kind: l.req.Kind, Holder: l.req.Holder, Err: err}
		l.core.events.Add(func() { t.Renewed(e) })
	}
}

// renew sends a batch of renewals to the engine for the watchdog.
func (c *core) renew(ctx context.Context, leases []watchdog.Leased) []error {
	return c.engine.Renew(ctx, requests(leases))
}

// tick runs twice a second while the client has leases.
func (c *core) tick(now time.Time, leases func() []watchdog.Leased) {
	c.registration.refresh(now)
	if c.revocations.poll() {
		all := leases()
		c.tasks.Go(func() { c.revocations.review(all) })
	}
}

func requests(leases []watchdog.Leased) []engine.Request {
	reqs := make([]engine.Request, len(leases))
	for i, x := range leases {
		reqs[i] = x.(*lease).req
	}
	return reqs
}
