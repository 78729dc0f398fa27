package keystate

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// A queue holds the waiters of one family of locks, in order of arrival. A nil queue has
// none.
type queue struct {
	Kind    engine.Kind `json:"k,omitempty"` // the family
	Waiters []waiter    `json:"w"`
}

// A waiter is a position in a queue. When it has expired, later waiters may be granted
// the lock. The waiter is forgotten only one queue lease later. If it returns before
// that, it keeps its position.
type waiter struct {
	Kind    engine.Kind `json:"k,omitempty"`
	Holder  string      `json:"h"`
	Attempt string      `json:"a,omitempty"` // only for a permit
	Until   int64       `json:"u"`
	Lease   int64       `json:"l"`
}

func (w *waiter) expired(now int64) bool { return now >= w.Until }

// forgetAt returns when the waiter is forgotten.
func (w *waiter) forgetAt() int64 { return w.Until + w.Lease }

// is reports whether the position is that of c.
func (w *waiter) is(c *Command) bool {
	return w.Holder == c.Holder && w.Kind == c.Kind && (c.Kind != engine.Permit || w.Attempt == c.Attempt)
}

// prune removes the waiters that are to be forgotten. If the clock was set back, it
// shortens each position to its queue lease.
func (q *queue) prune(x *Effects) {
	for i := range q.Waiters {
		if w := &q.Waiters[i]; w.Until > x.Now+w.Lease {
			w.Until = x.Now + w.Lease
			x.change()
		}
	}
	q.Waiters = slices.DeleteFunc(q.Waiters, func(w waiter) bool { return x.Now >= w.forgetAt() })
}

// position returns the number of waiters before c, or -1 if it is not queued.
func (q *queue) position(c *Command) int {
	if q == nil {
		return -1
	}
	return slices.IndexFunc(q.Waiters, func(w waiter) bool { return w.is(c) })
}

// upTo returns the waiters before a position, or all of them if it is -1.
func (q *queue) upTo(at int) []waiter {
	switch {
	case q == nil:
		return nil
	case at < 0:
		return q.Waiters
	}
	return q.Waiters[:at]
}

// blocking returns the first waiter that c must not overtake, or nil. Readers may
// overtake each other, and any caller may overtake expired positions.
func (q *queue) blocking(c *Command, now int64) *waiter {
	before := q.upTo(q.position(c))
	for i := range before {
		if w := &before[i]; !w.expired(now) && (c.Kind != engine.Read || w.Kind == engine.Write) {
			return w
		}
	}
	return nil
}

// queue returns the queue for requests of a kind, or nil. Exclusive requests share the
// Family of fair ones, and have no position in their queue.
func (s *lockState) queue(k engine.Kind) *queue {
	for i := range s.Queues {
		if s.Queues[i].Kind == Family(k) {
			return &s.Queues[i]
		}
	}
	return nil
}

// enqueue adds c to the end of its queue, or extends its position at.
func (s *lockState) enqueue(at int, c *Command, now int64) {
	q := s.queue(c.Kind)
	if at >= 0 {
		if w := &q.Waiters[at]; now+c.Queue > w.Until {
			w.Until, w.Lease = now+c.Queue, c.Queue
		}
		return
	}
	w := waiter{Kind: c.Kind, Holder: c.Holder, Until: now + c.Queue, Lease: c.Queue}
	if c.Kind == engine.Permit {
		w.Attempt = c.Attempt
	}
	if q == nil {
		s.Queues = append(s.Queues, queue{Kind: Family(c.Kind)})
		q = &s.Queues[len(s.Queues)-1]
	}
	q.Waiters = append(q.Waiters, w)
}

// dequeue removes c from its queue, and reports whether it was queued.
func (s *lockState) dequeue(c *Command) bool {
	q := s.queue(c.Kind)
	at := q.position(c)
	if c.Kind == engine.Exclusive || at < 0 {
		return false
	}
	s.setWaiters(q, slices.Delete(q.Waiters, at, at+1))
	return true
}

// dequeueGranted is dequeue for a caller that is granted the lock. It also removes the
// expired positions before it.
func (s *lockState) dequeueGranted(c *Command, now int64) bool {
	q := s.queue(c.Kind)
	if q == nil || c.Kind == engine.Exclusive {
		return false
	}
	at := q.position(c)
	rest := q.Waiters[len(q.upTo(at)):]
	if at >= 0 {
		rest = rest[1:]
	}
	alive := slices.DeleteFunc(slices.Clone(q.upTo(at)), func(w waiter) bool { return w.expired(now) })
	s.setWaiters(q, append(alive, rest...))
	return at >= 0
}

// setWaiters replaces the waiters, and removes an empty queue.
func (s *lockState) setWaiters(q *queue, waiters []waiter) {
	if q.Waiters = waiters; len(waiters) == 0 {
		kind := q.Kind
		s.Queues = slices.DeleteFunc(s.Queues, func(q queue) bool { return q.Kind == kind })
	}
}

// notifyNext notifies the waiters that may be granted the lock now: those that do not
// queue, and the first waiter in the queue. It also notifies waiters before that one
// whose positions have expired, because they may still be alive. It returns how many
// queued waiters were notified.
func (s *lockState) notifyNext(kind engine.Kind, x *Effects) (notified int) {
	x.wake(KindTopic(s.key, kind))
	q := s.queue(kind)
	if q == nil {
		return 0
	}
	for i := range q.Waiters {
		w := &q.Waiters[i]
		if kind != engine.Read { // waiting readers and writers share the topic of the kind
			x.wake(WaiterTopic(s.key, w.Kind, w.Holder, w.Attempt))
		}
		notified++
		if !w.expired(x.Now) {
			break
		}
	}
	return notified
}
