package interlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/retry"
)

// A waitQueue holds the goroutines of this process that wait for one key. It
// exists while one of them holds the lock, asks the engine or releases the lock.
// It stays a while longer if other processes also wait for the key. The mutex of
// its shard guards it.
type waitQueue struct {
	holder      *lease       // the holder in this process
	rival       rival        // the holder elsewhere, as last seen by the leader
	first, last *waiter      // goroutines waiting for a handover
	listeners   int          // the number of waiters that do not poll
	sub         subscription // used by the leader
	pending     *pending     // the leader's request, if others wait for its answer
	notBefore   time.Time    // the next leader waits until then before it asks
	idle        bool         // empty, and kept until keepUntil
	keepUntil   time.Time
	expiring    bool // a timer will remove it

	grantsInRow int       // of this process while others waited; see turn
	rivalsUntil time.Time // until then, other processes count as waiting
	unyielded   int       // grants in a row without a yieldDelay
	overtakes   int       // changes of the holder while this process waited
	queueUntil  time.Time // until then, requests queue at the engine

	granted   bool          // this process has the lock and has not begun to release it
	answered  bool          // the engine has answered a request of this queue
	asked     time.Time     // since when the leader waits for an answer; zero if it has one
	outage    outage        // the engine's failures, as last seen by the leader
	refusedAt time.Time     // when the leader was last refused
	pausing   bool          // the leader was refused, and will ask again
	polling   bool          // Poll has set the leader's pause
	askNow    chan struct{} // cuts the pause of the leader short; capacity 1
}

// A waiter waits in the queue for a handover.
type waiter struct {
	ready      chan handover // capacity 1
	terms      terms
	poll       Backoff // how often it wants the engine to be asked; may be nil
	since      time.Time
	prev, next *waiter
	queued     bool
}

// A handover passes a waiter the lock, the lead, or an error.
type handover struct {
	granted bool // the waiter gets grant; otherwise it gets the lead
	grant   grant
	pause   time.Duration // before the new leader asks the engine
	outage  outage        // the engine's failures before this handover
	turn    turn
	bypass  bool  // the waiter asks the engine itself, beside the leader
	err     error // the engine has failed for longer than the waiter accepts
}

// A pending request is the one that the leader has sent. Goroutines that make a
// single attempt wait for its answer instead of sending their own.
type pending struct {
	done chan struct{} // closed when the rest is set
	result
}

// A result is what the leader found.
type result struct {
	rival  rival  // another holder has the lock
	err    error  // the leader failed
	terms  terms  // the terms of the leader that failed
	outage outage // the engine's failures when the leader failed
	ended  bool   // the leader gave up without an answer
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

// contended returns the error of a caller that did not get the lock, because the
// rival holds it. err is why the caller stopped waiting.
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
func (q *waitQueue) resolve(r result) {
	if q.pending != nil {
		q.pending.result = r
		close(q.pending.done)
		q.pending = nil
	}
}

// pause returns how long a waiter with Poll pauses after the given number of
// tries.
func (w *waiter) pause(tries int) time.Duration { return max(w.poll(tries), time.Millisecond) }

// wakeLeader makes a leader that pauses after a refusal ask at once.
func (q *waitQueue) wakeLeader() {
	if q.pausing {
		select {
		case q.askNow <- struct{}{}:
		default:
		}
	}
}

// enqueue adds a waiter at the end. A waiter that does not poll wants to be
// notified, and the leader listens for it.
func (q *waitQueue) enqueue(o *options) *waiter {
	w := &waiter{ready: make(chan handover, 1), terms: o.terms(), poll: o.poll, since: time.Now(), prev: q.last, queued: true}
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	if w.poll == nil {
		q.listeners++
		if q.polling {
			q.wakeLeader()
		}
	}
	return w
}

// remove takes w out of the queue. It reports whether w was in it.
func (q *waitQueue) remove(w *waiter) bool {
	if !w.queued {
		return false
	}
	w.queued = false
	if w.poll == nil {
		q.listeners--
	}
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

// gaveUp returns the error of a waiter that stopped waiting. The error reports the
// lock as held only if the engine said so and is not failing.
func (q *waitQueue) gaveUp(w *waiter, key string, cause error) error {
	r := q.current()
	if q.granted || cause == ErrClosed { //nolint:errorlint // identity: this package set it
		return r.gaveUp(key, cause)
	}
	if o := q.outage.of(w.terms.lease, w.since); o.err != nil {
		return unasked(key, withCause(o.err, cause))
	}
	if !q.answered || !q.asked.IsZero() && time.Since(q.asked) > retry.Silence {
		return unanswered(key, cause)
	}
	return r.gaveUp(key, cause)
}

// grantedTo notes that this process got the lock from the engine.
func (q *waitQueue) grantedTo(r rival) {
	q.granted, q.answered = true, true
	q.rival, q.asked, q.outage = r, time.Time{}, outage{}
	q.pausing, q.polling = false, false
}

// leaderFailed makes the next waiter the leader, because the last one did not get
// the lock. err is the reason; it is nil if the last leader's own context ended.
func (q *waitQueue) leaderFailed(s *shard, m *Mutex, err error) {
	if err != nil && engine.Temporary(err) {
		q.failWaiters(m.key)
	}
	q.advance(s, m.key, result{err: err, terms: m.opts.terms(), outage: q.outage, ended: err == nil}, 0)
}

// failWaiters fails the waiters for which the outage lasts too long. As leaders they
// would only see the same outage.
func (q *waitQueue) failWaiters(key string) {
	pause := retry.Delay(q.outage.failures)
	for w := q.first; w != nil; {
		next := w.next
		if o := q.outage.of(w.terms.lease, w.since); o.err != nil && o.lasts(pause, false) {
			q.remove(w)
			w.ready <- handover{err: unasked(key, o.err)}
		}
		w = next
	}
}

// passes reports whether a caller with the given lease may ask the engine beside the
// leader. It may if the engine is too slow for the leader's lease, and the caller's lease
// is longer.
func (q *waitQueue) passes(lease time.Duration) bool {
	return q.outage.lease > 0 && lease > q.outage.lease
}

// letPass lets the first waiter with a longer lease pass the leader.
func (q *waitQueue) letPass() {
	for w := q.first; w != nil; w = w.next {
		if q.passes(w.terms.lease) {
			q.remove(w)
			w.ready <- handover{bypass: true}
			return
		}
	}
}

// unasked returns the error of a caller that learned of an outage from another
// goroutine. It has sent nothing, so its own outcome is known.
func unasked(key string, err error) error {
	if errors.Is(err, engine.ErrUnknown) {
		err = fmt.Errorf("%w: an earlier request from this process got no answer: %v", engine.ErrUnavailable, err) //nolint:errorlint // %v: the caller's own outcome is known
	}
	return fmt.Errorf("interlock: acquire %q: %w", key, err)
}

// advance makes the next waiter the leader, after a pause. Without a waiter the
// queue closes when the pause is over.
func (q *waitQueue) advance(s *shard, key string, r result, pause time.Duration) {
	q.resolve(r)
	q.pausing, q.polling = false, false
	if w := q.first; w != nil {
		q.remove(w)
		q.asked = time.Now().Add(pause)
		w.ready <- handover{pause: pause, outage: q.outage.of(w.terms.lease, w.since), turn: q.nextTurn()}
		return
	}
	q.sub.unsubscribe()
	now := time.Now()
	q.notBefore = now.Add(pause)
	q.keepUntil = q.notBefore
	if q.grantsInRow > 0 || q.overtakes > 0 {
		q.keepUntil = now.Add(turnMemory)
	}
	if q.queueUntil.After(q.keepUntil) {
		q.keepUntil = q.queueUntil
	}
	if !q.keepUntil.After(now) {
		s.close(key, q)
		return
	}
	q.idle = true
	if !q.expiring {
		q.expiring = true
		q.removeAfter(s, key, q.keepUntil.Sub(now))
	}
}

// removeAfter removes the queue when it has been idle for long enough.
func (q *waitQueue) removeAfter(s *shard, key string, d time.Duration) {
	time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.queues[key] != q {
			return
		}
		q.expiring = false
		if left := time.Until(q.keepUntil); q.idle && left > 0 {
			q.expiring = true
			q.removeAfter(s, key, left)
		} else if q.idle {
			delete(s.queues, key)
		}
	})
}

const (
	minYieldDelay = 50 * time.Microsecond
	maxYieldDelay = 50 * time.Millisecond

	// maxYieldTurns replaces maxYieldDelay where processes take turns: there the
	// engine's queue serves a distant process, so a long delay is not needed.
	maxYieldTurns = 500 * time.Microsecond
)

// yieldDelay returns how long this process waits before it asks for a lock that
// it has just released. If another process listens, it waits two round trips and
// jitter, so that the other process is notified and asks first. A process that
// was overtaken queues at the engine instead. Such a process yields only after several
// grants in a row, in case the other process cannot queue there.
func (q *waitQueue) yieldDelay(listeners int, roundTrip time.Duration, takesTurns bool) time.Duration {
	if q.sub.active() {
		listeners--
	}
	if listeners <= 0 || takesTurns && time.Now().Before(q.queueUntil) && q.unyielded <= maxHandovers {
		return 0
	}
	q.unyielded = 0
	longest := maxYieldDelay
	if takesTurns {
		longest = maxYieldTurns
	}
	rt := min(max(roundTrip, minYieldDelay), longest)
	return 2*rt + backoff.Jitter(rt)
}

// A leader tells the local queue of its key what the engine answers. A nil
// leader has no queue.
type leader struct {
	shard *shard
	queue *waitQueue
}

// asks notes that a request is being sent again.
func (l *leader) asks(sent time.Time) {
	if l == nil {
		return
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	q := l.queue
	q.pausing, q.polling = false, false
	if q.asked.IsZero() {
		q.asked = sent
	}
	select {
	case <-q.askNow: // this request is the one that was asked for
	default:
	}
}

// refused records the holder that kept the leader from the lock. It reports whether
// the leader must listen for waiters that do not poll. It also returns the turn of
// the leader's next request.
func (l *leader) refused(r rival, once, polls, overtaken, first bool) (listen bool, next turn) {
	if l == nil {
		return false, turn{}
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	q := l.queue
	q.answered, q.refusedAt = true, time.Now()
	q.rival, q.asked, q.outage = r, time.Time{}, outage{}
	q.wasRefused(overtaken, first)
	q.resolve(result{rival: r})
	if once {
		return false, turn{}
	}
	listen = q.listeners > 0
	q.pausing, q.polling = true, polls && !listen
	if q.askNow == nil {
		q.askNow = make(chan struct{}, 1)
	}
	return listen, q.nextTurn()
}

// failed notes that the engine fails. If the engine is only too slow for the lease of
// this leader, callers with a longer lease do not wait for the leader.
func (l *leader) failed(o outage) {
	if l == nil {
		return
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	q := l.queue
	q.outage = o
	if o.lease > 0 {
		q.resolve(result{ended: true})
		q.letPass()
	}
}

// wake returns a channel that receives when the leader should ask at once.
func (l *leader) wake() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.queue.askNow // only refused sets it, in the leader's goroutine
}
