package memory

import (
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// sharedHolders are the holders of a read/write lock or a semaphore, each with its own
// lease. The entry of the lock expires with the first of these leases. Then it is
// rescheduled for the next one, until no holder is left.
type sharedHolders struct {
	holds  map[holdKey]*entry
	writer *entry // one of holds, or nil
	expiry expiry
}

// blocking returns a holder that keeps r from the lock, or nil.
func (c *sharedHolders) blocking(r engine.Request) *entry {
	switch {
	case r.Kind == engine.Read && c.isWriter(r.Holder): // a writer may read beside its own write
		return nil
	case r.Kind == engine.Read:
		return c.writer
	case r.Kind == engine.Permit && len(c.holds) < r.Limit: // the limit is the request's; it is not stored
		return nil
	}
	return c.first()
}

// first returns the writer, or the holder whose lease expires first.
func (c *sharedHolders) first() *entry {
	if c.writer != nil {
		return c.writer
	}
	return c.expiry.first()
}

// hasReader reports whether holder holds the read lock.
func (c *sharedHolders) hasReader(holder string) bool {
	return c.holds[holdKey{kind: engine.Read, holder: holder}] != nil
}

// isWriter reports whether holder holds the write lock.
func (c *sharedHolders) isWriter(holder string) bool {
	return c.writer != nil && c.writer.holder == holder
}

// full reports whether no more holders of that kind are allowed. Writers are single, and
// permits have the limit of their request.
func (c *sharedHolders) full(k engine.Kind) bool {
	return k == engine.Read && len(c.holds) >= engine.MaxReaders
}

// add adds a hold, whose capacity the caller has taken.
func (c *sharedHolders) add(at holdKey, h *entry) {
	c.holds[at] = h
	c.expiry.add(h)
	if h.kind == engine.Write {
		c.writer = h
	}
}

// remove removes a hold, whose capacity the caller frees.
func (c *sharedHolders) remove(at holdKey) {
	h := c.holds[at]
	delete(c.holds, at)
	c.expiry.remove(h)
	if h == c.writer {
		c.writer = nil
	}
}

// addShared adds h to the holders of l, the lock at its key. If l is nil, it
// creates the lock.
func (s *shard) addShared(l, h *entry, at holdKey) error {
	// Both refusals come before the lock is created, so that no lock is left without
	// holders.
	if l != nil && l.shared.full(h.kind) {
		return fmt.Errorf("memory: %w: %q has %d readers, which is the limit; retry when one has finished",
			engine.ErrFull, h.key, engine.MaxReaders)
	}
	if !s.capacity.take() {
		return errFull
	}
	if l == nil {
		l = &entry{key: h.key, kind: family(h.kind), expires: h.expires, shared: &sharedHolders{holds: make(map[holdKey]*entry)}}
		s.put(l)
	}
	l.shared.add(at, h)
	s.reschedule(l)
	return nil
}

// leaveShared removes one holder of l and notifies the waiters that may be granted
// the lock now. While other readers remain, the end of a reader lets no waiter in.
func (s *shard) leaveShared(l *entry, at holdKey, now int64) (notified int) {
	l.shared.remove(at)
	s.capacity.free(1)
	switch {
	case len(l.shared.holds) == 0:
		s.drop(l)
	case at.kind == engine.Read:
		s.reschedule(l)
		return 0
	default:
		s.reschedule(l)
	}
	return s.notifyNext(l.key, l.kind, now)
}

// expireShared removes the holders of l whose leases have expired.
func (s *shard) expireShared(l *entry, now int64) {
	for c := l.shared; c.expiry.expired(now); {
		s.leaveShared(l, c.expiry.first().holdKey(), now)
	}
}

// reschedule lets l expire with the first lease of its holders.
func (s *shard) reschedule(l *entry) {
	l.expires = l.shared.expiry.first().expires
	s.expiry.fix(l)
}
