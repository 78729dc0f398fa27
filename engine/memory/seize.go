package memory

import (
	"context"
	"strings"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// remembrance is how long those from whom a lock was seized are told so.
const remembrance = time.Minute

// Seize implements [engine.Inspector].
func (e *Engine) Seize(ctx context.Context, key string) (engine.Lock, error) {
	if err := ctx.Err(); err != nil {
		return engine.Lock{}, err
	}
	seen, err := e.seize(key)
	for _, h := range seen.Holders {
		e.tellClients(h.Name)
	}
	return seen, err
}

func (e *Engine) seize(key string) (engine.Lock, error) {
	s, now := e.enter(key)
	defer s.mu.Unlock()
	seen, err := s.see(key, now)
	if l := s.lock(key, now); l != nil && err == nil {
		s.revoke(l, after(now, remembrance))
		s.drop(l)
		s.beckon(l.key, l.kind)
	}
	return seen, err
}

// revoke leaves a notice for everybody who holds l. There is always room for it:
// the lock that it is about makes some, and an operator is not to be refused.
func (s *shard) revoke(l *entry, until int64) {
	if l.crowd != nil {
		for _, h := range l.crowd.holds {
			s.revoke(h, until)
		}
		return
	}
	for _, attempt := range append([]string{l.attempt}, l.more...) {
		notice := &entry{key: l.key, holder: l.holder, attempt: attempt, expires: until, sort: aNotice}
		if old := s.kept.notices[identity{l.key, l.holder, attempt}]; old != nil {
			s.drop(old)
		}
		s.room.insist()
		s.put(notice)
	}
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

// tellClients tells those whose holder was robbed: its name begins with their ID
// and a colon.
func (e *Engine) tellClients(holder string) {
	for at := range len(holder) {
		if !strings.HasPrefix(holder[at:], ":") {
			continue
		}
		s, _ := e.enter(holder[:at])
		s.ears.wake(topic{key: holder[:at], client: true})
		s.mu.Unlock()
	}
}
