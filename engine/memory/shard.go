package memory

import (
	"sync"
	"time"

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
	locks  map[string]*entry
	graves map[identity]*entry
	expiry expiry
	peak   int    // the most entries since the maps were new
	last   uint64 // the highest fence that was given away
	ears   ears
}

func (s *shard) open(r *room) {
	s.room = r
	s.locks = make(map[string]*entry)
	s.graves = make(map[identity]*entry)
	s.ears = make(ears)
}

func (s *shard) acquire(r engine.Request, now int64) (engine.Grant, error) {
	if s.abandoned(r, now) {
		return engine.Grant{}, engine.ErrAbandoned
	}
	l := s.lock(r.Key, now)
	switch {
	case l == nil:
		return s.grant(r, now)
	case l.holder != r.Holder:
		return engine.Grant{}, &engine.BusyError{Holder: l.holder, Left: time.Duration(l.expires - now)}
	case !l.through(r.Holder, r.Attempt):
		l.more = append(l.more, r.Attempt)
	}
	s.prolong(l, after(now, r.Lease))
	return engine.Grant{Fence: l.fence, Count: l.count()}, nil
}

// grant gives a lock that is free. The fence goes by the clock, so that it rises
// over restarts too, and by the one before it, so that no clock makes it fall.
func (s *shard) grant(r engine.Request, now int64) (engine.Grant, error) {
	l := &entry{key: r.Key, holder: r.Holder, attempt: r.Attempt, expires: after(now, r.Lease)}
	if !s.keep(l) {
		return engine.Grant{}, errFull
	}
	l.fence = max(s.last+1, uint64(max(now, 0))/1000)
	s.last = l.fence + r.Room
	return engine.Grant{Fence: l.fence, Count: 1}, nil
}

func (s *shard) renew(r engine.Request, now int64) error {
	l := s.lock(r.Key, now)
	if l == nil || !l.through(r.Holder, r.Attempt) {
		return engine.ErrNotHolder
	}
	s.prolong(l, after(now, r.Lease))
	return nil
}

func (s *shard) release(r engine.Request, now int64) engine.Parting {
	l := s.lock(r.Key, now)
	if l == nil {
		return engine.Parting{Outcome: engine.AlreadyFree}
	}
	if !l.through(r.Holder, r.Attempt) {
		return engine.Parting{Outcome: engine.NotYours}
	}
	if left := l.leave(r.Attempt); left > 0 {
		return engine.Parting{Outcome: engine.Released, Count: left}
	}
	s.drop(l)
	return engine.Parting{Outcome: engine.Released, Listeners: s.ears.wake(r.Key)}
}

// abandon leaves the tombstone before it releases: if there is no room for one,
// nothing has happened.
func (s *shard) abandon(r engine.Request, now int64) (engine.Parting, error) {
	until := after(now, r.Lease)
	stone := &entry{key: r.Key, holder: r.Holder, attempt: r.Attempt, expires: until, grave: true}
	switch l := s.lock(r.Key, now); {
	case s.graves[identityOf(r)] != nil:
		s.prolong(s.graves[identityOf(r)], until)
	case l != nil && l.through(r.Holder, r.Attempt) && l.count() == 1:
		s.room.insist() // the release below gives back what the tombstone takes
		s.put(stone)
	case !s.keep(stone):
		return engine.Parting{}, errFull
	}
	return s.release(r, now), nil
}

// abandoned reports whether there is a tombstone for r. It costs nothing where
// nobody has abandoned anything.
func (s *shard) abandoned(r engine.Request, now int64) bool {
	if len(s.graves) == 0 {
		return false
	}
	g := s.graves[identityOf(r)]
	return g != nil && now < g.expires
}

// lock returns the lock at key, or nil if it is free.
func (s *shard) lock(key string, now int64) *entry {
	l := s.locks[key]
	if l != nil && now >= l.expires {
		s.end(l)
		return nil
	}
	return l
}
