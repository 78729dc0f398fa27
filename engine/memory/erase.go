package memory

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Erase implements [engine.Eraser].
func (l ledger) Erase(ctx context.Context, key string) (engine.Record, error) {
	if err := checkLookup(ctx, key); err != nil {
		return engine.Record{}, err
	}
	s, hash, now := l.find(key)
	defer s.mu.Unlock()
	r := s.record(key, hash, now)
	if r == nil {
		return engine.Record{Key: key}, nil
	}
	before := r.outline(key, string(r.fingerprint()), now)
	// A running claim stays: its attempt will settle it.
	if before.State != engine.Running {
		s.erase(r)
		s.subscribers.wake(topic{key: key, record: true})
	}
	return before, nil
}
