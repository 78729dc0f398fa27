package memory

import (
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// sweepLimit is how many expired entries one operation removes at most. It is above one,
// so that they do not accumulate, and small, so that no caller pays for many.
const sweepLimit = 4

// A shard stores the locks and records of some keys. mu guards all other fields.
type shard struct {
	mu          sync.Mutex
	capacity    *capacity // the engine's; it is atomic and needs no mutex
	store       store
	expiry      expiry
	n           int    // number of entries
	peak        int    // the largest n since the maps were created
	lastFence   uint64 // the highest fence granted or reserved
	subscribers subscribers
}

// open prepares a zero shard. New calls it before any other goroutine has the engine.
func (s *shard) open(c *capacity) {
	s.capacity = c
	s.store = newStore()
	s.subscribers = make(subscribers)
}

// acquire grants or refuses r. The order matters: a tombstone refuses its attempt even if
// the holder has the lock, and a holder that enters again does not queue.
func (s *shard) acquire(r engine.Request, now int64) (engine.Grant, error) {
	if s.abandoned(attemptKeyOf(r), now) {
		return engine.Grant{}, engine.ErrAbandoned
	}
	l := s.lockAt(r.Key, now)
	if l != nil && l.kind != family(r.Kind) {
		return engine.Grant{}, wrongKind(l, r)
	}
	if h := l.holdOf(r); h != nil {
		return s.reenter(l, h, r, now), nil
	}
	// A reader that waits for the write lock would wait for its own read lock.
	if r.Kind == engine.Write && l != nil && l.shared.hasReader(r.Holder) {
		return engine.Grant{}, engine.ErrUpgrade
	}
	if blocker := s.blocking(l, r, now); blocker != nil {
		return engine.Grant{}, s.refuse(blocker, r, now)
	}
	return s.grant(l, r, now)
}

// reenter grants l again to its holder, whose hold is h. A repeated request of one attempt
// counts once.
func (s *shard) reenter(l, h *entry, r engine.Request, now int64) engine.Grant {
	if !h.hasAttempt(r.Attempt) {
		h.more = append(h.more, r.Attempt)
	}
	s.extend(l, h, after(now, r.Lease))
	s.dequeue(r, now)
	return engine.Grant{Fence: h.fence, Count: h.count()}
}

// blocking returns the holder or waiter that keeps r from the lock, or nil.
func (s *shard) blocking(l *entry, r engine.Request, now int64) *entry {
	// A caller without Fair may overtake the queue.
	if holder := l.blocking(r); holder != nil || r.Kind == engine.Exclusive {
		return holder
	}
	if l != nil && l.shared.isWriter(r.Holder) {
		return nil // the writer may read without queueing
	}
	first := s.queue(r, now).blocking(r, now)
	// The refusal names a holder if there is one, although a waiter is the reason.
	if first != nil && l != nil {
		return l.firstHolder()
	}
	return first
}

// grant grants a free lock, or one more hold of a shared lock.
func (s *shard) grant(l *entry, r engine.Request, now int64) (engine.Grant, error) {
	h := &entry{key: r.Key, holder: r.Holder, attempt: r.Attempt, kind: r.Kind, expires: after(now, r.Lease)}
	switch r.Kind {
	case engine.Exclusive, engine.Fair:
		h.kind = engine.Exclusive // the hold is the same; only the wait differs
		if !s.tryPut(h) {
			return engine.Grant{}, errFull
		}
	default:
		if err := s.addShared(l, h, holdKeyOf(r)); err != nil {
			return engine.Grant{}, err
		}
	}
	// The fence comes last, so that a refusal uses none.
	h.fence = s.fence(l, r, now)
	if s.dequeueGranted(r, now) && r.Kind == engine.Permit {
		s.notifyNext(r.Key, r.Kind, now) // another permit may be free for the next waiter
	}
	return engine.Grant{Fence: h.fence, Count: 1}, nil
}

// fence returns the fence of a new grant. A writer that also reads keeps its fence,
// because the holder does not change.
func (s *shard) fence(l *entry, r engine.Request, now int64) uint64 {
	if r.Kind == engine.Read && l != nil && l.shared.isWriter(r.Holder) {
		return l.shared.writer.fence
	}
	return s.nextFence(r.FenceReserve, now)
}

// nextFence returns the time in µs, so that fences rise across restarts. If the clock is
// behind the last fence, it returns the fence after that. It also reserves the given
// number of fences after the result.
func (s *shard) nextFence(reserve uint64, now int64) uint64 {
	fence := max(s.lastFence+1, uint64(max(now, 0))/1000)
	s.lastFence = fence + reserve
	return fence
}

// renew extends the lease of r's attempt. It cannot revive an expired hold, which lockAt
// has removed.
func (s *shard) renew(r engine.Request, now int64) error {
	l := s.lockAt(r.Key, now)
	h := l.holdOfAttempt(r)
	if h == nil {
		return s.lossReason(r, now)
	}
	s.extend(l, h, after(now, r.Lease))
	return nil
}

// extend prolongs the lease of h, a hold of l, and with it the entry of l.
func (s *shard) extend(l, h *entry, until int64) {
	if l.shared == nil {
		s.prolong(h, until)
		return
	}
	if until > h.expires {
		h.expires = until
		l.shared.expiry.fix(h)
		s.reschedule(l)
	}
}

// release ends r's attempt, and also its position in the queue: a waiter that gives up
// calls Release or Abandon.
func (s *shard) release(r engine.Request, now int64) engine.ReleaseResult {
	l := s.lockAt(r.Key, now)
	// While an exclusive lock is held, a shorter queue lets no waiter in.
	if s.dequeue(r, now) && (l == nil || l.shared != nil) {
		s.notifyNext(r.Key, family(r.Kind), now) // the removed waiter may have blocked others
	}
	if l == nil {
		return engine.ReleaseResult{Outcome: engine.AlreadyFree}
	}
	h := l.holdOfAttempt(r)
	if h == nil {
		return engine.ReleaseResult{Outcome: engine.NotYours}
	}
	if left := h.removeAttempt(r.Attempt); left > 0 {
		return engine.ReleaseResult{Outcome: engine.Released, Count: left}
	}
	return engine.ReleaseResult{Outcome: engine.Released, Listeners: s.releaseLast(l, r, now)}
}

// releaseLast removes the hold of r's holder, whose last attempt was released. It returns
// how many subscribers were notified.
func (s *shard) releaseLast(l *entry, r engine.Request, now int64) (notified int) {
	if l.shared != nil {
		return s.leaveShared(l, holdKeyOf(r), now)
	}
	s.drop(l)
	return s.notifyNext(l.key, l.kind, now)
}

// abandon adds a tombstone for the attempt, and then releases it. Without capacity for
// the tombstone, it changes nothing.
func (s *shard) abandon(r engine.Request, now int64) (engine.ReleaseResult, error) {
	until := after(now, r.Lease)
	stone := &entry{key: r.Key, holder: r.Holder, attempt: r.Attempt, expires: until, class: classTombstone}
	switch h := s.lockAt(r.Key, now).holdOfAttempt(r); {
	case s.store.tombstones[attemptKeyOf(r)] != nil:
		s.prolong(s.store.tombstones[attemptKeyOf(r)], until)
	case h != nil && h.count() == 1 || s.queue(r, now).position(holdKeyOf(r)) >= 0:
		s.capacity.force() // the release below frees the capacity of one entry
		s.put(stone)
	case !s.tryPut(stone):
		return engine.ReleaseResult{}, errFull
	}
	return s.release(r, now), nil
}

// abandoned reports whether an attempt has a tombstone that has not expired.
func (s *shard) abandoned(k attemptKey, now int64) bool {
	if len(s.store.tombstones) == 0 { // the common case: abandoning is rare
		return false
	}
	t := s.store.tombstones[k]
	return t != nil && now < t.expires
}

// lockAt returns the lock or latch at key, or nil. It first removes expired holders.
func (s *shard) lockAt(key string, now int64) *entry {
	l := s.store.locks[key]
	if l != nil && now >= l.expires {
		s.expire(l, now)
		return s.store.locks[key]
	}
	return l
}
