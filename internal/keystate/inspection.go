package keystate

import (
	"cmp"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// inspected answers the lock, or an error if the key holds a latch.
func (s *lockState) inspected(x *Effects) any {
	if s.Latch != nil {
		return notLockError(s.key)
	}
	return s.inspect(x.Now)
}

// inspect returns the lock as an operator sees it.
func (s *lockState) inspect(now int64) engine.Lock {
	info := engine.Lock{Key: s.key, Listeners: len(s.Listeners), Holders: s.holders(now)}
	kind, held := s.held()
	if held {
		info.Kind = s.first().Kind
	}
	// A held lock has waiters of its own family only.
	for _, family := range []engine.Kind{engine.Exclusive, engine.Read, engine.Permit} {
		q := s.queue(family)
		if q == nil || held && kind != family {
			continue
		}
		for _, w := range q.Waiters {
			if !w.expired(now) {
				info.Waiters = append(info.Waiters, engine.Waiter{Name: Unpack(w.Holder), Kind: w.Kind, Left: Duration(w.Until - now)})
			}
		}
		if len(info.Waiters) == 0 {
			continue
		}
		switch { // only its queue tells a fair lock from an exclusive one
		case family == engine.Exclusive:
			info.Kind = engine.Fair
		case !held:
			info.Kind = family
		}
		return info
	}
	return info
}

// holders returns the holders, the writer first, then in order of arrival.
func (s *lockState) holders(now int64) (all []engine.Holder) {
	holds := slices.Clone(s.Holds)
	slices.SortFunc(holds, func(a, b hold) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Fence, b.Fence)) // Fences rise in order of arrival
	})
	for _, h := range holds {
		all = append(all, engine.Holder{Name: Unpack(h.Holder), Kind: h.Kind, Count: len(h.Attempts), Fence: h.Fence, Left: Duration(h.Until - now)})
	}
	return all
}

// LockOf returns the lock of a state at a time. It reports false if no caller holds one.
// Nothing that has expired may be left in s.
func LockOf(s State, now int64) (engine.Lock, bool) {
	l, ok := s.(*lockState)
	if !ok || l.Latch != nil || len(l.Holds) == 0 {
		return engine.Lock{}, false
	}
	return l.inspect(now), true
}

// minRevocation is the shortest time for which renewals of former holders fail with
// ErrRevoked, in milliseconds.
const minRevocation = 60_000

// forceRelease takes the lock from all its holders, or empties the queue of a free lock.
// It answers the lock as it was.
func (s *lockState) forceRelease(x *Effects) any {
	if s.Latch != nil {
		return notLockError(s.key)
	}
	before := s.inspect(x.Now)
	switch {
	case len(s.Holds) > 0:
		x.change()
		kind := Family(s.Holds[0].Kind)
		s.revoke(x)
		s.notifyNext(kind, x)
	case len(before.Waiters) > 0:
		x.change()
		s.clearQueue(Family(before.Kind), x)
	}
	return before
}

// revoke ends all holds, and adds a mark for each of their attempts. The clients of the
// holders are notified.
func (s *lockState) revoke(x *Effects) {
	until := x.Now + minRevocation
	for _, h := range s.Holds {
		// Three times the remaining lease outlasts the holder's next renewals.
		until = max(until, x.Now+3*(h.Until-x.Now))
	}
	for _, h := range s.Holds {
		wakeClients(Unpack(h.Holder), x)
		for _, attempt := range h.Attempts {
			wakeClients(Unpack(attempt), x)
			s.Revoked = putMark(s.Revoked, h.Holder, attempt, until)
		}
	}
	s.Holds = nil
}

// wakeClients notifies the client of a revoked holder or attempt. The name begins with
// the client's ID and a colon. An ID may contain colons, so every prefix that a colon
// follows may be an ID.
func wakeClients(name string, x *Effects) {
	for at := range len(name) {
		if name[at] == ':' {
			x.wake(ClientTopic(name[:at]))
		}
	}
}

// clearQueue removes a queue and notifies all its waiters.
func (s *lockState) clearQueue(kind engine.Kind, x *Effects) {
	x.wake(KindTopic(s.key, kind))
	q := s.queue(kind)
	for _, w := range q.Waiters {
		if kind != engine.Read {
			x.wake(WaiterTopic(s.key, w.Kind, w.Holder, w.Attempt))
		}
	}
	s.setWaiters(q, nil)
}
