package memory

import (
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// shedding is how many entries that are over an operation clears away at most.
// More than one, so that they shrink while locks are taken; few, so that nobody
// pays for what others left behind.
const shedding = 4

// A shard keeps the locks of some keys. All but mu is guarded by mu.
type shard struct {
	mu     sync.Mutex
	room   *room
	kept   kept
	expiry expiry
	n      int    // how many entries there are
	peak   int    // and the most since the maps were new
	last   uint64 // the highest fence that was given away
	ears   ears
}

func (s *shard) open(r *room) {
	s.room = r
	s.kept = newKept()
	s.ears = make(ears)
}

func (s *shard) acquire(r engine.Request, now int64) (engine.Grant, error) {
	if s.abandoned(identityOf(r), now) {
		return engine.Grant{}, engine.ErrAbandoned
	}
	l := s.lock(r.Key, now)
	if l != nil && l.kind != family(r.Kind) {
		return engine.Grant{}, another(l, r)
	}
	if h := l.held(r); h != nil {
		return s.reenter(l, h, r, now), nil
	}
	if r.Kind == engine.Write && l != nil && l.crowd.reads(r.Holder) {
		return engine.Grant{}, engine.ErrUpgrade
	}
	if by := s.before(l, r, now); by != nil {
		return engine.Grant{}, s.refuse(by, r, now)
	}
	return s.grant(l, r, now)
}

// reenter counts an attempt of who holds the lock already, unless it is one that
// was repeated.
func (s *shard) reenter(l, h *entry, r engine.Request, now int64) engine.Grant {
	if !h.through(r.Attempt) {
		h.more = append(h.more, r.Attempt)
	}
	s.extend(l, h, after(now, r.Lease))
	s.giveUp(r, now)
	return engine.Grant{Fence: h.fence, Count: h.count()}
}

// before returns who is to have the lock before r, or nil.
func (s *shard) before(l *entry, r engine.Request, now int64) *entry {
	if by := l.rival(r); by != nil || r.Kind == engine.Exclusive {
		return by
	}
	if l != nil && l.crowd.writes(r.Holder) {
		return nil // who writes reads without standing in line
	}
	first := s.line(r, now).before(r, now)
	if first != nil && l != nil {
		return l.somebody()
	}
	return first
}

// grant gives a lock that is free, or a part of one.
func (s *shard) grant(l *entry, r engine.Request, now int64) (engine.Grant, error) {
	h := &entry{key: r.Key, holder: r.Holder, attempt: r.Attempt, kind: r.Kind, expires: after(now, r.Lease)}
	switch r.Kind {
	case engine.Exclusive, engine.Fair:
		h.kind = engine.Exclusive
		if !s.keep(h) {
			return engine.Grant{}, errFull
		}
	default:
		if err := s.join(l, h, seatOf(r)); err != nil {
			return engine.Grant{}, err
		}
	}
	h.fence = s.fence(l, r, now)
	if s.pass(r, now) && r.Kind == engine.Permit {
		s.beckon(r.Key, r.Kind, now) // there may be a permit for the next one, too
	}
	return engine.Grant{Fence: h.fence, Count: 1}, nil
}

// fence returns the number of a new grant. It goes by the clock, so that it rises
// over restarts too, and by the one before it, so that no clock makes it fall.
// What a writer reads is no change of holder.
func (s *shard) fence(l *entry, r engine.Request, now int64) uint64 {
	if r.Kind == engine.Read && l != nil && l.crowd.writes(r.Holder) {
		return l.crowd.writer.fence
	}
	return s.nextFence(r.FenceReserve, now)
}

// nextFence returns a number above all before it, and leaves room for some more.
func (s *shard) nextFence(room uint64, now int64) uint64 {
	fence := max(s.last+1, uint64(max(now, 0))/1000)
	s.last = fence + room
	return fence
}

func (s *shard) renew(r engine.Request, now int64) error {
	l := s.lock(r.Key, now)
	h := l.hold(r)
	if h == nil {
		return s.lost(r, now)
	}
	s.extend(l, h, after(now, r.Lease))
	return nil
}

// extend lets h, by which l is held, last until then.
func (s *shard) extend(l, h *entry, until int64) {
	if l.crowd == nil {
		s.prolong(h, until)
		return
	}
	if until > h.expires {
		h.expires = until
		l.crowd.expiry.moved(h)
		s.retime(l)
	}
}

func (s *shard) release(r engine.Request, now int64) engine.ReleaseResult {
	l := s.lock(r.Key, now)
	if s.giveUp(r, now) && (l == nil || l.crowd != nil) {
		s.beckon(r.Key, family(r.Kind), now) // it may have been in the way of others
	}
	if l == nil {
		return engine.ReleaseResult{Outcome: engine.AlreadyFree}
	}
	h := l.hold(r)
	if h == nil {
		return engine.ReleaseResult{Outcome: engine.NotYours}
	}
	if left := h.leave(r.Attempt); left > 0 {
		return engine.ReleaseResult{Outcome: engine.Released, Count: left}
	}
	return engine.ReleaseResult{Outcome: engine.Released, Listeners: s.leave(l, r, now)}
}

// leave ends the last hold that r's holder has of l, and returns how many were
// told.
func (s *shard) leave(l *entry, r engine.Request, now int64) (told int) {
	if l.crowd != nil {
		return s.quit(l, seatOf(r), now)
	}
	s.drop(l)
	return s.beckon(l.key, l.kind, now)
}

// abandon leaves the tombstone before it releases: if there is no room for one,
// nothing has happened.
func (s *shard) abandon(r engine.Request, now int64) (engine.ReleaseResult, error) {
	until := after(now, r.Lease)
	stone := &entry{key: r.Key, holder: r.Holder, attempt: r.Attempt, expires: until, sort: aGrave}
	switch h := s.lock(r.Key, now).hold(r); {
	case s.kept.graves[identityOf(r)] != nil:
		s.prolong(s.kept.graves[identityOf(r)], until)
	case h != nil && h.count() == 1 || s.line(r, now).find(seatOf(r)) >= 0:
		s.room.insist() // the release below gives back what the tombstone takes
		s.put(stone)
	case !s.keep(stone):
		return engine.ReleaseResult{}, errFull
	}
	return s.release(r, now), nil
}

// abandoned reports whether there is a tombstone for an attempt. It costs nothing
// where nobody has abandoned anything.
func (s *shard) abandoned(who identity, now int64) bool {
	if len(s.kept.graves) == 0 {
		return false
	}
	g := s.kept.graves[who]
	return g != nil && now < g.expires
}

// lock returns the lock or latch at key, or nil if there is none.
func (s *shard) lock(key string, now int64) *entry {
	l := s.kept.locks[key]
	if l != nil && now >= l.expires {
		s.end(l, now)
		return s.kept.locks[key]
	}
	return l
}
