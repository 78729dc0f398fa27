package memory

import (
	"context"
	"math"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// minRevocation is the shortest time for which renewals of former holders fail with
// ErrRevoked.
const minRevocation = time.Minute

// ForceRelease implements [engine.Inspector].
func (e *Engine) ForceRelease(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	before, revoked, err := e.forceRelease(key)
	// The clients' subscriptions may be in other shards. So forceRelease has unlocked this
	// shard before they are notified.
	for _, name := range revoked {
		e.notifyClients(name)
	}
	return before, err
}

// forceRelease does the work of ForceRelease in the key's shard. It also returns the
// names of the holders and attempts that lost the lock.
func (e *Engine) forceRelease(key string) (before engine.Lock, revoked []string, err error) {
	s, now := e.lockShard(key)
	defer s.mu.Unlock()
	before, err = s.inspect(key, now)
	switch l := s.lockAt(key, now); {
	case err != nil:
	case l != nil:
		revoked = s.revoke(l, now)
		s.drop(l)
		s.notifyNext(l.key, l.kind, now)
	case len(before.Waiters) > 0:
		s.clearQueue(s.store.queues[queueID{key, family(before.Kind)}])
	}
	return before, revoked, err
}

// revoke adds a revocation for every hold of l, and returns their holders and
// attempts. It needs no free capacity: an operator must not be refused.
func (s *shard) revoke(l *entry, now int64) (revoked []string) {
	until := after(now, minRevocation)
	for _, h := range l.holds() {
		// Three times the remaining lease outlasts the holder's next renewals. min avoids
		// an overflow.
		left := min(h.expires-now, math.MaxInt64/3)
		until = max(until, after(now, time.Duration(3*left)))
	}
	for _, h := range l.holds() {
		revoked = append(revoked, h.holder)
		for _, attempt := range append([]string{h.attempt}, h.more...) {
			revoked = append(revoked, attempt)
			s.addRevocation(attemptKey{h.key, h.holder, attempt}, until)
		}
	}
	return revoked
}

// addRevocation records that a hold was revoked. The revocation expires at until.
func (s *shard) addRevocation(hold attemptKey, until int64) {
	if old := s.store.revocations[hold]; old != nil {
		s.drop(old)
	}
	s.capacity.force()
	s.put(&entry{key: hold.key, holder: hold.holder, attempt: hold.attempt, expires: until, class: classRevocation})
}

// clearQueue removes a queue and notifies all its waiters. The first one to return
// is granted the lock.
func (s *shard) clearQueue(q *queue) {
	s.subscribers.wake(topic{key: q.key, hold: holdKey{kind: q.kind}})
	for _, w := range q.waiters {
		s.subscribers.wake(topic{key: q.key, hold: w.holdKey()})
	}
	s.drop(&q.entry)
}

// lossReason returns why r cannot be renewed.
func (s *shard) lossReason(r engine.Request, now int64) error {
	if n := s.store.revocations[attemptKeyOf(r)]; n != nil && now < n.expires {
		return engine.ErrRevoked
	}
	return engine.ErrNotHolder
}

// Watch implements [engine.Inspector].
func (e *Engine) Watch(id string) (wake <-chan struct{}, stop func()) {
	return e.subscribe(topic{key: id, client: true})
}

// notifyClients notifies the client of a revoked holder or attempt. The name begins with
// the client's ID and a colon.
func (e *Engine) notifyClients(name string) {
	// An ID may contain colons, so every prefix that a colon follows may be an ID.
	for at := range len(name) {
		if name[at] != ':' {
			continue
		}
		s, _ := e.lockShard(name[:at])
		s.subscribers.wake(topic{key: name[:at], client: true})
		s.mu.Unlock()
	}
}
