package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A queue holds the waiters of a lock in order of arrival. Its entry expires when prune
// must handle a waiter, or earlier: a waiter that extends its position does not postpone
// the expiry of the entry.
type queue struct {
	entry
	waiters  []*waiter
	lastSeen int64 // when queue or prune last read it
}

// A queueID identifies a queue. Each family of locks has its own.
type queueID struct {
	key  string
	kind engine.Kind
}

// queue returns the queue that r waits in, or nil. Exclusive locks have no queue.
func (s *shard) queue(r engine.Request, now int64) *queue {
	if len(s.store.queues) == 0 || r.Kind == engine.Exclusive {
		return nil
	}
	id := queueID{r.Key, family(r.Kind)}
	q := s.store.queues[id]
	// A time before lastSeen means that the clock was set back.
	if q != nil && (now >= q.expires || now < q.lastSeen) {
		s.prune(q, now)
		q = s.store.queues[id]
	}
	if q != nil {
		q.lastSeen = now
	}
	return q
}

// position returns the number of waiters before the given one, or -1 if it is not
// queued.
func (q *queue) position(at holdKey) int {
	if q == nil {
		return -1
	}
	return slices.IndexFunc(q.waiters, func(w *waiter) bool { return w.holdKey() == at })
}

// upTo returns the waiters before a position, or all of them if it is -1.
func (q *queue) upTo(at int) []*waiter {
	switch {
	case q == nil:
		return nil
	case at < 0:
		return q.waiters
	}
	return q.waiters[:at]
}

// blocking returns the first waiter that r must not overtake, or nil. Readers may
// overtake each other, and any caller may overtake expired positions.
func (q *queue) blocking(r engine.Request, now int64) *entry {
	for _, w := range q.upTo(q.position(holdKeyOf(r))) {
		if !w.expired(now) && (r.Kind != engine.Read || w.kind == engine.Write) {
			return &w.entry
		}
	}
	return nil
}

// refuse returns the BusyError for r, which names the blocker: a holder or a waiter. It
// queues r if r has a QueueLease.
func (s *shard) refuse(blocker *entry, r engine.Request, now int64) error {
	busy := &engine.BusyError{Holder: blocker.holder, Left: time.Duration(blocker.expires - now)}
	if r.Kind == engine.Exclusive {
		return busy
	}
	q := s.queue(r, now)
	at := q.position(holdKeyOf(r))
	// Ahead is counted before r is queued, so that a new waiter does not count itself.
	for _, w := range q.upTo(at) {
		if !w.expired(now) {
			busy.Ahead++
		}
	}
	switch {
	case r.QueueLease <= 0:
	case at >= 0:
		q.waiters[at].extend(r.QueueLease, now)
	case !s.enqueue(q, r, now):
		return errFull
	}
	return busy
}

// enqueue adds r to the end of the queue, and reports whether there was capacity.
func (s *shard) enqueue(q *queue, r engine.Request, now int64) bool {
	if !s.capacity.take() {
		return false
	}
	w := newWaiter(r, now)
	if q == nil {
		q = &queue{entry: entry{key: r.Key, kind: family(r.Kind), class: classQueue, expires: w.expires}, lastSeen: now}
		s.store.queues[queueID{q.key, q.kind}] = q
		s.put(&q.entry)
	}
	q.waiters = append(q.waiters, w)
	s.shorten(&q.entry, w.expires)
	return true
}

// dequeue removes r from the queue, and reports whether it was queued.
func (s *shard) dequeue(r engine.Request, now int64) bool {
	q := s.queue(r, now)
	at := q.position(holdKeyOf(r))
	if at < 0 {
		return false
	}
	s.setWaiters(q, slices.Delete(q.waiters, at, at+1))
	return true
}

// dequeueGranted is dequeue for a caller that is granted the lock. It also removes
// the expired positions before it.
func (s *shard) dequeueGranted(r engine.Request, now int64) bool {
	q := s.queue(r, now)
	if q == nil {
		return false
	}
	at := q.position(holdKeyOf(r))
	passed := q.upTo(at)
	end := len(passed)
	if at >= 0 {
		end++
	}
	alive := slices.DeleteFunc(passed, func(w *waiter) bool { return w.expired(now) })
	s.setWaiters(q, slices.Delete(q.waiters, len(alive), end))
	return at >= 0
}

// setWaiters replaces the waiters, and removes an empty queue.
func (s *shard) setWaiters(q *queue, waiters []*waiter) {
	s.capacity.free(len(q.waiters) - len(waiters))
	q.waiters = waiters
	if len(waiters) == 0 {
		s.drop(&q.entry)
	}
}

// prune removes the waiters that are to be forgotten. If a position has expired since
// lastSeen, it notifies the waiters that may be granted the lock now. If the clock was set
// back, it shortens each position to its QueueLease.
func (s *shard) prune(q *queue, now int64) {
	expired := false
	for _, w := range q.waiters {
		w.expires = min(w.expires, after(now, w.queueLease))
		// The waiters behind a position that expired before lastSeen were notified then.
		expired = expired || w.expired(now) && q.lastSeen < w.expires
	}
	q.lastSeen = now
	s.setWaiters(q, slices.DeleteFunc(q.waiters, func(w *waiter) bool { return now >= w.forgetAt() }))
	if len(q.waiters) == 0 {
		return
	}
	q.expires = slices.MinFunc(q.waiters, func(a, b *waiter) int { return cmp.Compare(a.due(now), b.due(now)) }).due(now)
	s.expiry.fix(&q.entry)
	if expired {
		s.notifyNext(q.key, q.kind, now)
	}
}
