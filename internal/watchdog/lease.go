package watchdog

import (
	"math"
	"sync/atomic"
	"time"
)

// Terms say whether a lease is renewed, and for how long.
type Terms struct {
	Explicit bool          // the lease is not renewed
	MaxHold  time.Duration // how long the lease is renewed; zero means no limit
}

// A Lease is the watchdog's part of a hold or claim: until when it is safe, and
// what is due next. Init makes it ready.
type Lease struct {
	clock  *Clock
	leased Leased // set by Watchdog.Add
	key    string
	life   time.Duration // the lease that each renewal requests

	// Until when the lease is safe, by either clock. The earlier time counts.
	safeMono, safeWall atomic.Int64

	// Guarded by the watchdog's mutex. Times of type int64 are monotonic.
	sent     time.Time // when the last successful request was sent
	index    int       // the index in the heap; -1 if the lease is not in it
	next     int64     // when the next action is due
	renew    int64     // when the next renewal is due, or never
	terms    Terms
	since    int64 // when the terms began to count
	failures int32 // failed renewals in a row
	renewing bool  // a renewal is in progress or queued
}

// never is later than any time.
const never = math.MaxInt64

// Init starts a lease whose request was sent at sent. Each renewal requests life,
// and the terms count from since. If the first lease is longer than life, call
// Trust, too.
func (l *Lease) Init(c *Clock, key string, life time.Duration, sent, since time.Time, t Terms) {
	l.clock, l.key, l.life = c, key, life
	l.index, l.sent, l.since, l.terms = -1, sent, c.mono(since), t
	l.renew = never
	l.Trust(SafeUntil(sent, life))
}

// Trust sets until when the lease is safe.
func (l *Lease) Trust(safe time.Time) {
	l.safeMono.Store(l.clock.mono(safe))
	l.safeWall.Store(l.clock.wall(safe))
}

// later returns the later of safe and the current end of the lease: the first lease may
// have been longer than a renewal requests. A clock may have been set, so the current
// end is computed from the clock by which less time is left.
func (l *Lease) later(safe time.Time) time.Time {
	now := time.Now()
	left := min(l.safeMono.Load()-l.clock.mono(now), l.safeWall.Load()-l.clock.wall(now))
	if until := now.Add(time.Duration(left)); until.After(safe) {
		return until
	}
	return safe
}

// Overdue reports whether the lease is no longer safe, by either clock.
func (l *Lease) Overdue(now time.Time) bool {
	return l.clock.mono(now) >= l.safeMono.Load() || l.clock.wall(now) >= l.safeWall.Load()
}

// Left returns how long the lease is safe; zero if it is overdue.
func (l *Lease) Left(now time.Time) time.Duration {
	if l.Overdue(now) {
		return 0
	}
	return time.Duration(l.safeMono.Load() - l.clock.mono(now))
}

// Until returns until when the lease is safe, unless a clock is set or the machine
// sleeps.
func (l *Lease) Until() time.Time { return l.clock.at(l.safeMono.Load()) }

// Sent returns when the last successful request was sent. Call it only after
// Watchdog.Remove.
func (l *Lease) Sent() time.Time { return l.sent }

// nextDue returns when the next action for the lease is due.
func (l *Lease) nextDue(now time.Time) int64 {
	next := min(l.safeMono.Load(), l.clock.mono(now)+l.safeWall.Load()-l.clock.wall(now))
	if !l.renewing {
		next = min(next, l.renew)
	}
	if most := l.terms.MaxHold; most > 0 {
		next = min(next, l.since+int64(most))
	}
	return next
}

// exceeded reports whether MaxHold has passed.
func (l *Lease) exceeded(now int64) bool {
	return l.terms.MaxHold > 0 && now-l.since >= int64(l.terms.MaxHold)
}

// schedule plans the next renewal after a request sent at sent.
func (l *Lease) schedule(sent time.Time) {
	l.sent = sent
	if !l.terms.Explicit {
		l.renew = l.clock.mono(sent.Add(l.life / RenewalsPerLease))
	}
}
