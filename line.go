package interlock

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
)

// A line is where the goroutines of this process that want one key stand. It
// exists while one of them holds the lock, stands at the engine or releases it,
// and a moment longer when another process should get its chance first. Its
// part's mutex guards it.
type line struct {
	held        *lease    // who of this process has the lock
	busy        seen      // who else was last seen with it since the turn began
	first, last *waiter   // who waits for a turn
	ear         ear       // used by the one whose turn it is
	flight      *flight   // the question at the engine, if others wait for the answer
	after       time.Time // not before then does the next one go to the engine
	idle        bool      // nobody is there; see after
}

// A waiter stands in line until its turn comes.
type waiter struct {
	turn       chan turn // holds one
	terms      terms
	prev, next *waiter
	queued     bool
}

// A turn is the lock, passed on, or else the place at the engine.
type turn struct {
	lock  bool
	grant grant
	pause time.Duration // before going to the engine
	err   error         // or the engine has failed for so long that there is no point
}

// A flight is the question that the one at the engine has asked. Those who
// would ask once wait for the answer to it instead.
type flight struct {
	done chan struct{} // closed when the rest is set
	busy seen          // somebody else has the lock
	err  error         // the engine could not be asked
	over bool          // the turn ended without an answer
}

// seen is who held a lock at some instant.
type seen struct {
	holder string
	until  time.Time // when the lease was to end; zero if unknown
	ahead  int       // how many stood in line
}

func seenOf(l *lease) seen {
	return seen{holder: l.req.Holder, until: l.watch.Until()}
}

func seenBusy(b *engine.BusyError) seen {
	s := seen{holder: b.Holder, ahead: b.Ahead}
	if b.Left > 0 {
		s.until = time.Now().Add(b.Left)
	}
	return s
}

// left returns how long the holder's lease goes on; zero if unknown or over.
func (s seen) left() time.Duration {
	if s.until.IsZero() {
		return 0
	}
	return max(0, time.Until(s.until))
}

// contended makes the error that tells of s. Waiting ended because of err.
func (s seen) contended(key string, err error) *ContendedError {
	return &ContendedError{Key: key, Holder: s.holder, RetryAfter: s.left(), Ahead: s.ahead, Err: err}
}

// gaveUp makes the error of somebody who waited in vain for s to end.
func (s seen) gaveUp(key string, cause error) error {
	if cause == ErrClosed { //nolint:errorlint // identity: this package set it
		return fmt.Errorf("%w: gave up waiting for %q", ErrClosed, key)
	}
	return s.contended(key, cause)
}

// ahead returns who was last seen with the lock, if anybody.
func (ln *line) ahead() seen {
	if ln.held != nil {
		return seenOf(ln.held)
	}
	return ln.busy
}

// join returns the flight, so that its end can be waited for.
func (ln *line) join() *flight {
	if ln.flight == nil {
		ln.flight = &flight{done: make(chan struct{})}
	}
	return ln.flight
}

// land tells those who joined the flight what came of it.
func (ln *line) land(f flight) {
	if ln.flight != nil {
		ln.flight.busy, ln.flight.err, ln.flight.over = f.busy, f.err, f.over
		close(ln.flight.done)
		ln.flight = nil
	}
}

// push puts a waiter at the end of the line.
func (ln *line) push(t terms) *waiter {
	w := &waiter{turn: make(chan turn, 1), terms: t, prev: ln.last, queued: true}
	if ln.last == nil {
		ln.first = w
	} else {
		ln.last.next = w
	}
	ln.last = w
	return w
}

// drop takes a waiter out of the line. It reports whether it was in it.
func (ln *line) drop(w *waiter) bool {
	if !w.queued {
		return false
	}
	w.queued = false
	if w.prev == nil {
		ln.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		ln.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	return true
}

// turnOver sends the next waiter to the engine, after a pause; with nobody left
// the line ends, once the pause is over. Those who joined the flight learn err.
func (ln *line) turnOver(p *part, key string, err error, pause time.Duration) {
	ln.held, ln.busy = nil, seen{}
	ln.land(flight{err: err, over: err == nil})
	for w := ln.first; w != nil && err != nil && engine.Temporary(err); w = ln.first {
		ln.drop(w)
		w.turn <- turn{err: err}
	}
	if w := ln.first; w != nil {
		ln.drop(w)
		w.turn <- turn{pause: pause}
		return
	}
	ln.ear.close()
	if pause <= 0 {
		p.end(key, ln)
		return
	}
	ln.idle, ln.after = true, time.Now().Add(pause)
	time.AfterFunc(pause, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if ln.idle && p.lines[key] == ln && !time.Now().Before(ln.after) {
			delete(p.lines, key)
		}
	})
}

const leastCourtesy = 50 * time.Microsecond

// courtesy returns how long this process stays away from a lock it has had its
// turn with: two round trips and jitter if anybody else listens for it, so that
// they are woken and get there first.
func (ln *line) courtesy(listeners int, roundTrip time.Duration) time.Duration {
	if ln.ear.open() {
		listeners--
	}
	if listeners <= 0 {
		return 0
	}
	rt := min(max(roundTrip, leastCourtesy), 50*time.Millisecond)
	return 2*rt + backoff.Jitter(rt)
}
