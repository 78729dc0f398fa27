package keystate

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// acquire grants or refuses c. The order matters: a tombstone refuses its attempt even if
// the holder has the lock, and a holder that enters again does not queue.
func (s *lockState) acquire(c *Command, x *Effects) any {
	if marked(s.Tombs, c.Holder, c.Attempt) {
		return abandonedError(s.key)
	}
	if kind, held := s.held(); held && kind != Family(c.Kind) {
		return kindError(s.key, kind, c.Kind)
	}
	if h := s.holdOf(c); h != nil {
		return s.reenter(h, c, x)
	}
	// A reader that waits for the write lock would wait for its own read lock.
	if c.Kind == engine.Write && s.hasReader(c.Holder) {
		return upgradeError(s.key)
	}
	if name, until, blocked := s.blocking(c, x.Now); blocked {
		return s.refuse(name, until, c, x)
	}
	if c.Kind == engine.Read && len(s.Holds) >= engine.MaxReaders {
		return fullError(s.key)
	}
	return s.grant(c, x)
}

// reenter grants the lock again to its holder, whose hold is h. A repeated request of one
// attempt counts once.
func (s *lockState) reenter(h *hold, c *Command, x *Effects) any {
	x.change()
	if !slices.Contains(h.Attempts, c.Attempt) {
		h.Attempts = append(slices.Clone(h.Attempts), c.Attempt)
	}
	h.Until = max(h.Until, x.Now+c.Lease)
	s.dequeue(c)
	return engine.Grant{Fence: h.Fence, Count: len(h.Attempts)}
}

// blocking returns the holder or waiter that keeps c from the lock, and when it expires.
func (s *lockState) blocking(c *Command, now int64) (name string, until int64, blocked bool) {
	// A caller without Fair may overtake the queue.
	if h := s.blockingHold(c); h != nil || c.Kind == engine.Exclusive {
		if h == nil {
			return "", 0, false
		}
		return h.Holder, h.Until, true
	}
	if s.isWriter(c.Holder) {
		return "", 0, false // the writer may read without queueing
	}
	w := s.queue(c.Kind).blocking(c, now)
	if w == nil {
		return "", 0, false
	}
	// The refusal names a holder if there is one, although a waiter is the reason.
	if len(s.Holds) > 0 {
		h := s.first()
		return h.Holder, h.Until, true
	}
	return w.Holder, w.Until, true
}

// blockingHold returns a hold that keeps c from the lock, or nil.
func (s *lockState) blockingHold(c *Command) *hold {
	switch {
	case len(s.Holds) == 0:
		return nil
	case c.Kind == engine.Read && s.isWriter(c.Holder): // a writer may read beside its own write
		return nil
	case c.Kind == engine.Read:
		return s.writer()
	case c.Kind == engine.Permit && len(s.Holds) < c.Limit: // the limit is the request's; it is not stored
		return nil
	}
	return s.first()
}

// grant grants a free lock, or one more hold of a shared lock.
func (s *lockState) grant(c *Command, x *Effects) any {
	x.change()
	h := hold{Kind: c.Kind, Holder: c.Holder, Attempts: []string{c.Attempt}, Until: x.Now + c.Lease}
	if Family(c.Kind) == engine.Exclusive {
		h.Kind = engine.Exclusive // the hold is the same; only the wait differs
	}
	// A writer that also reads keeps its fence, because the holder does not change.
	if w := s.writer(); c.Kind == engine.Read && w != nil {
		h.Fence = w.Fence
	} else {
		h.Fence, s.Floor = nextFence(s.Floor, c.Reserve, x.Moment)
	}
	s.Holds = append(s.Holds, h)
	s.Listeners = slices.DeleteFunc(s.Listeners, func(l listener) bool { return l.ID == c.Listener })
	if s.dequeueGranted(c, x.Now) && c.Kind == engine.Permit {
		s.notifyNext(c.Kind, x) // another permit may be free for the next waiter
	}
	return engine.Grant{Fence: h.Fence, Count: 1}
}

// listens is how long an engine counts as a listener after it was refused, at least, in
// milliseconds.
const listens = 30_000

// refuse returns the error of c, which a holder or waiter blocks. It queues c if c has a
// queue lease.
func (s *lockState) refuse(name string, until int64, c *Command, x *Effects) any {
	busy := &engine.BusyError{Holder: Unpack(name), Left: Duration(until - x.Now)}
	if c.Kind == engine.Exclusive {
		if c.Listener != "" && !slices.ContainsFunc(s.Listeners, func(l listener) bool { return l.ID == c.Listener }) {
			x.change()
			s.Listeners = append(s.Listeners, listener{c.Listener, x.Now + max(listens, 2*(until-x.Now))})
		}
		return busy
	}
	q := s.queue(c.Kind)
	at := q.position(c)
	// Ahead is counted before c is queued, so that a new waiter does not count itself.
	for _, w := range q.upTo(at) {
		if !w.expired(x.Now) {
			busy.Ahead++
		}
	}
	if c.Queue > 0 {
		x.change()
		s.enqueue(at, c, x.Now)
	}
	return busy
}

// renew extends the lease of c's attempt. It cannot revive an expired hold.
func (s *lockState) renew(c *Command, x *Effects) any {
	h := s.holdOfAttempt(c)
	switch {
	case h != nil:
		x.change()
		h.Until = max(h.Until, x.Now+c.Lease)
		return nil
	case marked(s.Revoked, c.Holder, c.Attempt):
		return engine.ErrRevoked
	}
	return engine.ErrNotHolder
}

// release ends c's attempt, and also its position in the queue.
func (s *lockState) release(c *Command, x *Effects) any {
	kind, held := s.held()
	// While an exclusive lock is held, a shorter queue lets no waiter in.
	if s.dequeue(c) {
		x.change()
		if !held || kind != engine.Exclusive {
			s.notifyNext(Family(c.Kind), x)
		}
	}
	if !held {
		return engine.ReleaseResult{Outcome: engine.AlreadyFree}
	}
	h := s.holdOfAttempt(c)
	if h == nil {
		return engine.ReleaseResult{Outcome: engine.NotYours}
	}
	x.change()
	if h.Attempts = slices.DeleteFunc(slices.Clone(h.Attempts), func(a string) bool { return a == c.Attempt }); len(h.Attempts) > 0 {
		return engine.ReleaseResult{Outcome: engine.Released, Count: len(h.Attempts)}
	}
	reads := h.Kind == engine.Read
	s.remove(h)
	notified := 0
	// While other readers remain, the end of a reader lets no waiter in.
	if !reads || len(s.Holds) == 0 {
		notified = s.notifyNext(kind, x)
	}
	if kind == engine.Exclusive {
		for _, l := range s.Listeners {
			if l.ID != c.Listener { // the engine counts its own subscriptions
				notified++
			}
		}
		s.Listeners = nil // they are notified, and ask again
	}
	return engine.ReleaseResult{Outcome: engine.Released, Listeners: notified}
}

// abandon adds a tombstone for the attempt, and then releases it.
func (s *lockState) abandon(c *Command, x *Effects) any {
	x.change()
	s.Tombs = putMark(s.Tombs, c.Holder, c.Attempt, x.Now+c.Lease)
	return s.release(c, x)
}

// raise raises the fence of the holder of c's attempt.
func (s *lockState) raise(c *Command, x *Effects) any {
	h := s.holdOfAttempt(c)
	if h == nil {
		return engine.ErrNotHolder
	}
	x.change()
	h.Fence = max(h.Fence, c.Fence)
	s.Floor = max(s.Floor, h.Fence+c.Reserve)
	return nil
}
