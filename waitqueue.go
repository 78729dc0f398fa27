package interlock

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
)

// A waitQueue holds the goroutines of this process that wait for one key. It
// exists while one of them holds the lock, asks the engine or releases the lock,
// and for yieldDelay after that. The mutex of its shard guards it.
type waitQueue struct {
	holder      *lease       // the holder in this process
	rival       rival        // the holder elsewhere, as last seen by the leader
	first, last *waiter      // goroutines waiting for a handover
	sub         subscription // used by the leader
	pending     *pending     // the leader's request, if others wait for its answer
	notBefore   time.Time    // the next leader asks no earlier
	idle        bool         // empty, and kept until notBefore
}

// A waiter waits in the queue for a handover.
type waiter struct {
	ready      chan handover // holds one
	terms      terms
	prev, next *waiter
	queued     bool
}

// A handover passes a waiter the lock, or else the lead.
type handover struct {
	granted bool
	grant   grant
	pause   time.Duration // before the new leader asks the engine
	err     error         // or the engine has failed for too long
}

// A pending request is the one that the leader has sent. Goroutines that make a
// single attempt wait for its answer instead of sending their own.
type pending struct {
	done  chan struct{} // closed when the rest is set
	rival rival         // another holder has the lock
	err   error         // the engine failed
	ended bool          // the leader gave up without an answer
}

// A rival is a holder as seen at one moment.
type rival struct {
	holder string
	until  time.Time // when its lease expires; zero if unknown
	ahead  int       // waiters in the engine's queue before the caller
}

func rivalOf(l *lease) rival {
	return rival{holder: l.req.Holder, until: l.watch.Until()}
}

func rivalFrom(b *engine.BusyError) rival {
	r := rival{holder: b.Holder, ahead: b.Ahead}
	if b.Left > 0 {
		r.until = time.Now().Add(b.Left)
	}
	return r
}

// left returns how much of the rival's lease is left; zero if unknown or
// expired.
func (r rival) left() time.Duration {
	if r.until.IsZero() {
		return 0
	}
	return max(0, time.Until(r.until))
}

// contended returns the error of a caller that the rival keeps from the lock.
// Err is why it stopped waiting.
func (r rival) contended(key string, err error) *ContendedError {
	return &ContendedError{Key: key, Holder: r.holder, RetryAfter: r.left(), Ahead: r.ahead, Err: err}
}

// gaveUp returns the error of a waiter that stopped waiting.
func (r rival) gaveUp(key string, cause error) error {
	if cause == ErrClosed { //nolint:errorlint // identity: this package set it
		return fmt.Errorf("%w: gave up waiting for %q", ErrClosed, key)
	}
	return r.contended(key, cause)
}

// current returns the holder last seen, here or elsewhere.
func (q *waitQueue) current() rival {
	if q.holder != nil {
		return rivalOf(q.holder)
	}
	return q.rival
}

// joinPending returns the pending request, to wait for its answer.
func (q *waitQueue) joinPending() *pending {
	if q.pending == nil {
		q.pending = &pending{done: make(chan struct{})}
	}
	return q.pending
}

// resolve gives the answer to the goroutines that joined the pending request.
func (q *waitQueue) resolve(p pending) {
	if q.pending != nil {
		q.pending.rival, q.pending.err, q.pending.ended = p.rival, p.err, p.ended
		close(q.pending.done)
		q.pending = nil
	}
}

// enqueue adds a waiter at the end.
func (q *waitQueue) enqueue(t terms) *waiter {
	w := &waiter{ready: make(chan handover, 1), terms: t, prev: q.last, queued: true}
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	return w
}

// remove takes a waiter out. It reports whether it was queued.
func (q *waitQueue) remove(w *waiter) bool {
	if !w.queued {
		return false
	}
	w.queued = false
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	return true
}

// advance makes the next waiter the leader, after a pause. Without a waiter the
// queue closes when the pause is over. A temporary engine error fails every
// waiter: each of them would only find the same outage.
func (q *waitQueue) advance(s *shard, key string, err error, pause time.Duration) {
	q.holder, q.rival = nil, rival{}
	q.resolve(pending{err: err, ended: err == nil})
	for w := q.first; w != nil && err != nil && engine.Temporary(err); w = q.first {
		q.remove(w)
		w.ready <- handover{err: err}
	}
	if w := q.first; w != nil {
		q.remove(w)
		w.ready <- handover{pause: pause}
		return
	}
	q.sub.unsubscribe()
	if pause <= 0 {
		s.close(key, q)
		return
	}
	q.idle, q.notBefore = true, time.Now().Add(pause)
	time.AfterFunc(pause, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.idle && s.queues[key] == q && !time.Now().Before(q.notBefore) {
			delete(s.queues, key)
		}
	})
}

const minYieldDelay = 50 * time.Microsecond

// yieldDelay returns how long this process waits before it asks for a lock that
// it has just released. If another process listens, it waits two round trips and
// jitter, so that the other process is notified and asks first.
func (q *waitQueue) yieldDelay(listeners int, roundTrip time.Duration) time.Duration {
	if q.sub.active() {
		listeners--
	}
	if listeners <= 0 {
		return 0
	}
	rt := min(max(roundTrip, minYieldDelay), 50*time.Millisecond)
	return 2*rt + backoff.Jitter(rt)
}
