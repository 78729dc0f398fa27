package watchdog

import (
	"math"
	"sync/atomic"
	"time"
)

// Terms are whether a lease is renewed, and for how long.
type Terms struct {
	Explicit bool          // it is not renewed
	MaxHold  time.Duration // not after that; zero means for ever
}

// A Lease is part of what is kept alive: until when it is certainly ours, and
// what is due. It is made by Init.
type Lease struct {
	clock *Clock
	ward  Ward // whose it is, once it is in a watchdog's charge
	key   string
	life  time.Duration // what each renewal asks for

	// Until when it is certainly ours, by either clock. Whichever is over first
	// counts.
	sureMono, sureWall atomic.Int64

	// What the watchdog knows, guarded by its mutex. Most times are by the
	// monotonic clock.
	sent   time.Time // when it was last asked for, by both clocks
	index  int       // in the heap; -1 if not in it
	next   int64     // when something is due
	renew  int64     // when it is to be renewed; never if it is not
	terms  Terms
	begun  int64 // since when those count
	tried  int32 // renewals that failed in a row
	flying bool  // a renewal is on its way, or waits for one
}

// never is later than anything.
const never = math.MaxInt64

// Init begins a lease that was asked for at sent. Each renewal asks for life, and
// the terms count from begun. If the first lease is longer than life, say so with
// Trust.
func (l *Lease) Init(c *Clock, key string, life time.Duration, sent, begun time.Time, t Terms) {
	l.clock, l.key, l.life = c, key, life
	l.index, l.sent, l.begun, l.terms = -1, sent, c.mono(begun), t
	l.renew = never
	l.Trust(SureUntil(sent, life))
}

// Trust sets until when the lease is certainly ours.
func (l *Lease) Trust(sure time.Time) {
	l.sureMono.Store(l.clock.mono(sure))
	l.sureWall.Store(l.clock.wall(sure))
}

// later returns sure, or until when the lease is certainly ours already if that is
// later: the first one may have been longer than a renewal asks for. What is left
// of it is what either clock says, the one with less, counted from now: one of them
// may have been set meanwhile.
func (l *Lease) later(sure time.Time) time.Time {
	now := time.Now()
	left := min(l.sureMono.Load()-l.clock.mono(now), l.sureWall.Load()-l.clock.wall(now))
	if until := now.Add(time.Duration(left)); until.After(sure) {
		return until
	}
	return sure
}

// Overdue tells whether the lease can no longer be relied on, by either clock.
func (l *Lease) Overdue(now time.Time) bool {
	return l.clock.mono(now) >= l.sureMono.Load() || l.clock.wall(now) >= l.sureWall.Load()
}

// Left returns for how long the lease is certainly ours; zero if it is overdue.
func (l *Lease) Left(now time.Time) time.Duration {
	if l.Overdue(now) {
		return 0
	}
	return time.Duration(l.sureMono.Load() - l.clock.mono(now))
}

// Until returns until when the lease is certainly ours if neither clock is set
// and the machine does not sleep.
func (l *Lease) Until() time.Time { return l.clock.at(l.sureMono.Load()) }

// Sent returns when the lease was last asked for. Only those may call it who have
// removed the lease from its watchdog.
func (l *Lease) Sent() time.Time { return l.sent }

// nextDue returns when something must be done about the lease.
func (l *Lease) nextDue(now time.Time) int64 {
	next := min(l.sureMono.Load(), l.clock.mono(now)+l.sureWall.Load()-l.clock.wall(now))
	if !l.flying {
		next = min(next, l.renew)
	}
	if most := l.terms.MaxHold; most > 0 {
		next = min(next, l.begun+int64(most))
	}
	return next
}

// exceeded tells whether the lease was held for as long as it may be.
func (l *Lease) exceeded(now int64) bool {
	return l.terms.MaxHold > 0 && now-l.begun >= int64(l.terms.MaxHold)
}

// schedule says when to renew a lease that was asked for at sent.
func (l *Lease) schedule(sent time.Time) {
	l.sent = sent
	if !l.terms.Explicit {
		l.renew = l.clock.mono(sent.Add(l.life / RenewPart))
	}
}
