package memory

import (
	"context"
	"math"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// remembrance is how long those from whom a lock was seized are told so at least.
const remembrance = time.Minute

// Seize implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	seen, robbed, err := e.seize(key)
	for _, name := range robbed {
		e.tellClients(name)
	}
	return seen, err
}

// seize also returns the names of the holders and attempts that lost the lock.
func (e *Engine) seize(key string) (seen engine.Lock, robbed []string, err error) {
	s, now := e.enter(key)
	defer s.mu.Unlock()
	seen, err = s.see(key, now)
	switch l := s.lock(key, now); {
	case err != nil:
	case l != nil:
		robbed = s.revoke(l, now)
		s.drop(l)
		s.beckon(l.key, l.kind, now)
	case len(seen.Waiters) > 0:
		s.disperse(s.kept.lines[lineID{key, family(seen.Kind)}])
	}
	return seen, robbed, err
}

// revoke leaves a notice for everybody who holds l, and returns their names. There
// is always room for it: the lock that it is about makes some, and an operator is
// not to be refused.
func (s *shard) revoke(l *entry, now int64) (robbed []string) {
	until := after(now, remembrance)
	for _, h := range l.holds() {
		left := min(h.expires-now, math.MaxInt64/3)
		until = max(until, after(now, time.Duration(3*left)))
	}
	for _, h := range l.holds() {
		robbed = append(robbed, h.holder)
		for _, attempt := range append([]string{h.attempt}, h.more...) {
			robbed = append(robbed, attempt)
			s.note(identity{h.key, h.holder, attempt}, until)
		}
	}
	return robbed
}

// note remembers until then that a hold was seized.
func (s *shard) note(hold identity, until int64) {
	if old := s.kept.notices[hold]; old != nil {
		s.drop(old)
	}
	s.room.insist()
	s.put(&entry{key: hold.key, holder: hold.holder, attempt: hold.attempt, expires: until, sort: aNotice})
}

// disperse empties a line and tells all who stood there: whoever comes back first
// is granted the lock.
func (s *shard) disperse(q *line) {
	s.ears.wake(topic{key: q.key, seat: seat{kind: q.kind}})
	for _, w := range q.waiters {
		s.ears.wake(topic{key: q.key, seat: w.seat()})
	}
	s.drop(&q.entry)
}

// lost tells why r's renewal comes too late.
func (s *shard) lost(r engine.Request, now int64) error {
	if n := s.kept.notices[identityOf(r)]; n != nil && now < n.expires {
		return engine.ErrRevoked
	}
	return engine.ErrNotHolder
}

// Watch implements [engine.Inspector].
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.listen(topic{key: id, client: true})
}

// tellClients tells those whose holder or attempt was robbed: its name begins with
// their ID and a colon.
func (e *Engine) tellClients(name string) {
	for at := range len(name) {
		if name[at] != ':' {
			continue
		}
		s, _ := e.enter(name[:at])
		s.ears.wake(topic{key: name[:at], client: true})
		s.mu.Unlock()
	}
}
