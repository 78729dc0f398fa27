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

// A lease is a lock held in the engine, however often it was entered here. It
// is also the context its holder works under, so that a hold costs few
// allocations and ownership needs no table of goroutines.
type lease struct {
	lazyctx.Context                 // ends with the hold
	parent          context.Context // the one it was taken under

	core  *core
	opts  *options
	outer *lease // the hold taken before on the way to this context

	grant
	watch watchdog.Lease
	begun time.Time // when this holder got it
	first Hold

	mu      sync.Mutex
	entries int
	ended   error // why the hold is over: ErrReleased or a *LostError
}

func newLease(ctx context.Context, m *Mutex, g grant, now time.Time) *lease {
	l := &lease{core: m.core, opts: &m.opts, grant: g, parent: ctx, begun: now, entries: 1}
	l.outer, _ = ctx.Value(leaseKey{}).(*lease)
	l.Init(ctx)
	l.first.lease = l
	terms := m.opts.watched()
	if m.gathered {
		terms = watchdog.Terms{} // until all are there
	}
	l.watch.Init(m.core.clock, g.req.Key, g.req.Lease, g.sent, now, terms)
	return l
}

// Value finds the lease itself for package interlock.
func (l *lease) Value(key any) any {
	if _, ok := key.(leaseKey); ok {
		return l
	}
	return l.Context.Value(key)
}

// Err tells the truth even if no timer has had the time to: a process that was
// stopped and goes on sees a lost lock at once.
func (l *lease) Err() error {
	if err := l.Context.Err(); err != nil {
		return err
	}
	if l.watch.Overdue(time.Now()) && !l.lose(ErrExpired) {
		<-l.Done() // somebody was faster, and is about to end it
	}
	return l.Context.Err()
}

// live tells whether the lock is still relied on.
func (l *lease) live() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended == nil && !l.watch.Overdue(time.Now())
}

// String names the context in messages about it.
func (l *lease) String() string { return fmt.Sprintf("interlock.Hold(%q)", l.req.Key) }

// left returns for how long the lock is certainly ours.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	ended := l.ended != nil
	l.mu.Unlock()
	if ended {
		return 0
	}
	return l.watch.Left(time.Now())
}

// enter takes the lock once more for whoever has its context. It returns
// neither a hold nor an error if the lease is over: it is no key any more.
func (l *lease) enter(allowed bool) (*Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended != nil || l.watch.Overdue(time.Now()):
		return nil, nil //nolint:nilnil // "not this one": the caller goes on
	case !allowed:
		return nil, &ContendedError{Key: l.req.Key, Holder: l.req.Holder, Self: true,
			RetryAfter: l.watch.Left(time.Now())}
	}
	l.entries++
	return &Hold{lease: l}, nil
}

// leave takes back one entry, and with the last one releases the lock.
func (l *lease) leave() error {
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
		return l.leaveLost(last)
	case !last:
		return nil
	}
	l.core.background.Begin() // before the watchdog lets go of it: Close waits for one or the other
	defer l.core.background.End()
	l.core.watchdog.Remove(l)
	l.End(ErrReleased)
	return l.release(now)
}

// leaveLost takes back an entry of a lock that was lost. Nobody renews it, but
// it may still be in others' way, for one lease at most: the last one to leave
// says that there is no need.
func (l *lease) leaveLost(last bool) error {
	l.lose(ErrExpired) // unless that is known
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if last {
		l.core.desk.vacate(l) // who noticed the loss may not have come to it yet, and ours may ask at once
	}
	if last && (errors.Is(ended, ErrMaxHold) || errors.Is(ended, ErrExpired)) {
		l.core.background.Go(func() { _, _ = l.core.release(l.req) })
	}
	return ended
}

// release gives the lock to the next in line or back to the engine (L3, L4).
func (l *lease) release(now time.Time) error {
	handed, outcome, err := l.core.desk.leave(l)
	held := now.Sub(l.begun)
	s, t := &l.core.stats, l.opts.trace
	s.live.Add(-1)
	s.held.Add(int64(held))
	switch {
	case err != nil:
		l.core.unreleased(&l.req, t, held, err)
		return fmt.Errorf("interlock: %q was not released and will run out: %w", l.req.Key, err)
	case outcome != engine.Released:
		lost := &LostError{Key: l.req.Key, Fence: l.fence, Err: l.core.whyGone(l.req)}
		s.lost.Add(1)
		if t != nil && t.Lost != nil {
			t.Lost(Lost{Key: l.req.Key, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Held: held, Err: lost.Err})
		}
		return lost
	}
	s.released.Add(1)
	if t != nil && t.Released != nil {
		t.Released(Released{Key: l.req.Key, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Held: held, HandedOver: handed})
	}
	return nil
}

// lose ends a hold that can no longer be relied on, for the given reason. It
// reports whether it was this call that did.
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
	held := time.Since(l.begun)
	s := &l.core.stats
	s.live.Add(-1)
	s.lost.Add(1)
	s.held.Add(int64(held))
	if t := l.opts.trace; t != nil && t.Lost != nil {
		t.Lost(Lost{Key: l.req.Key, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Held: held, Err: why})
	}
	l.core.desk.vacate(l)
	return true
}
