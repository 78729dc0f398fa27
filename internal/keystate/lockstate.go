package keystate

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// A lockState is the state of a lock or a latch. Its rules are those of package memory.
type lockState struct {
	Floor     uint64     `json:"f,omitempty"` // the highest fence granted or reserved
	Holds     []hold     `json:"h,omitempty"` // in order of arrival
	Queues    []queue    `json:"q,omitempty"` // one for each family with waiters
	Tombs     []mark     `json:"t,omitempty"` // of abandoned attempts
	Revoked   []mark     `json:"r,omitempty"` // of holds that were released by force
	Latch     *latch     `json:"l,omitempty"`
	Listeners []listener `json:"w,omitempty"` // a hint
	key       string
}

// A hold is one holder of a lock.
type hold struct {
	Kind     engine.Kind `json:"k,omitempty"` // Exclusive also for a fair request
	Holder   string      `json:"h"`
	Attempts []string    `json:"a"` // never changed in place
	Fence    uint64      `json:"f"`
	Until    int64       `json:"u"`
}

// A listener is an engine that was refused and listens for the release.
type listener struct {
	ID    string `json:"i"`
	Until int64  `json:"u"`
}

// Family returns one kind for all kinds that may use the same lock.
func Family(k engine.Kind) engine.Kind {
	switch k {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return k
}

func (s *lockState) Apply(c *Command, x *Effects) any {
	s.expire(x)
	switch c.Do {
	case DoAcquire:
		return s.acquire(c, x)
	case DoRenew:
		return s.renew(c, x)
	case DoRelease:
		return s.release(c, x)
	case DoAbandon:
		return s.abandon(c, x)
	case DoInspect:
		return s.inspected(x)
	case DoForceRelease:
		return s.forceRelease(x)
	case DoRaise:
		return s.raise(c, x)
	case DoCountDown:
		return s.countDown(c, x)
	case DoTidy:
		return tidied(s, x)
	}
	return unknownCommand(c)
}

// tidied removes a document in which nothing is left.
func tidied(s State, x *Effects) any {
	if s.Vacant() {
		x.change()
	}
	return nil
}

func (s *lockState) Clone() State {
	t := *s
	t.Holds, t.Tombs, t.Revoked, t.Listeners = slices.Clone(s.Holds), slices.Clone(s.Tombs), slices.Clone(s.Revoked), slices.Clone(s.Listeners)
	t.Queues = slices.Clone(s.Queues)
	for i := range t.Queues {
		t.Queues[i].Waiters = slices.Clone(t.Queues[i].Waiters)
	}
	if s.Latch != nil {
		l := *s.Latch
		l.Counted = slices.Clone(l.Counted)
		t.Latch = &l
	}
	return &t
}

func (s *lockState) Fences() uint64 { return s.Floor }

// Vacant ignores listeners: they ask again after a release.
func (s *lockState) Vacant() bool {
	return len(s.Holds)+len(s.Queues)+len(s.Tombs)+len(s.Revoked) == 0 && s.Latch == nil
}

func (s *lockState) Lasts() int64 {
	last := max(lastOf(s.Tombs), lastOf(s.Revoked))
	for _, h := range s.Holds {
		last = max(last, h.Until)
	}
	for _, q := range s.Queues {
		for _, w := range q.Waiters {
			last = max(last, w.forgetAt())
		}
	}
	if s.Latch != nil {
		last = max(last, s.Latch.Until)
	}
	return last
}

// expire removes what has expired. Waiters that may be granted the lock are notified.
func (s *lockState) expire(x *Effects) {
	s.Tombs, s.Revoked = unexpired(s.Tombs, x.Now), unexpired(s.Revoked, x.Now)
	s.Listeners = slices.DeleteFunc(s.Listeners, func(l listener) bool { return x.Now >= l.Until })
	if s.Latch != nil && x.Now >= s.Latch.Until {
		s.Latch = nil
	}
	for i := range s.Queues {
		s.Queues[i].prune(x)
	}
	s.Queues = slices.DeleteFunc(s.Queues, func(q queue) bool { return len(q.Waiters) == 0 })
	before := len(s.Holds)
	if before == 0 {
		return
	}
	kind := Family(s.Holds[0].Kind)
	s.Holds = slices.DeleteFunc(s.Holds, func(h hold) bool { return x.Now >= h.Until })
	if len(s.Holds) < before {
		s.notifyNext(kind, x)
	}
}

// held returns the family of the lock that the key holds, and false if it holds none.
func (s *lockState) held() (engine.Kind, bool) {
	switch {
	case s.Latch != nil:
		return engine.Latch, true
	case len(s.Holds) > 0:
		return Family(s.Holds[0].Kind), true
	}
	return 0, false
}

// holdOf returns the hold of c's holder and kind, or nil.
func (s *lockState) holdOf(c *Command) *hold {
	for i := range s.Holds {
		h := &s.Holds[i]
		switch {
		case h.Holder != c.Holder || Family(h.Kind) != Family(c.Kind):
		case Family(c.Kind) == engine.Exclusive, c.Kind == h.Kind && c.Kind != engine.Permit,
			c.Kind == engine.Permit && slices.Contains(h.Attempts, c.Attempt):
			return h
		}
	}
	return nil
}

// holdOfAttempt returns the hold of c's attempt, or nil.
func (s *lockState) holdOfAttempt(c *Command) *hold {
	if h := s.holdOf(c); h != nil && slices.Contains(h.Attempts, c.Attempt) {
		return h
	}
	return nil
}

// writer returns the hold of the writer, or nil.
func (s *lockState) writer() *hold {
	for i := range s.Holds {
		if s.Holds[i].Kind == engine.Write {
			return &s.Holds[i]
		}
	}
	return nil
}

// isWriter reports whether holder holds the write lock.
func (s *lockState) isWriter(holder string) bool {
	w := s.writer()
	return w != nil && w.Holder == holder
}

// hasReader reports whether holder holds the read lock.
func (s *lockState) hasReader(holder string) bool {
	return slices.ContainsFunc(s.Holds, func(h hold) bool { return h.Kind == engine.Read && h.Holder == holder })
}

// first returns the writer, or the holder whose lease expires first.
func (s *lockState) first() *hold {
	if w := s.writer(); w != nil {
		return w
	}
	first := &s.Holds[0]
	for i := range s.Holds {
		if s.Holds[i].Until < first.Until {
			first = &s.Holds[i]
		}
	}
	return first
}

// remove removes a hold.
func (s *lockState) remove(h *hold) {
	i := slices.IndexFunc(s.Holds, func(other hold) bool {
		return other.Fence == h.Fence && other.Kind == h.Kind && other.Holder == h.Holder
	})
	s.Holds = slices.Delete(s.Holds, i, i+1)
}
