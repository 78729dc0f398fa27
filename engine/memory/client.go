package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// maxClients limits the clients per shard, so that a caller that registers random IDs
// cannot exhaust memory.
const maxClients = 1000

// A client is a registered client. Its member never changes, because Members reads it
// without the shard's mutex.
type client struct {
	entry
	member engine.Member
}

// Register implements [engine.Inspector].
func (e *Engine) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.ID == "" || life <= 0 {
		return fmt.Errorf("memory: register client %q for %v: set its ID, and a life above zero", m.ID, life)
	}
	s, now := e.lockShard(m.ID)
	defer s.mu.Unlock()
	c := s.client(m.ID, now)
	if c == nil && len(s.store.clients) >= maxClients {
		return fmt.Errorf("memory: register client %q: %w: its shard already has %d clients; reuse client IDs", m.ID, engine.ErrFull, maxClients)
	}
	if c != nil {
		s.drop(&c.entry)
	}
	c = &client{entry{key: m.ID, class: classClient, expires: after(now, life)}, m}
	s.store.clients[m.ID] = c
	s.put(&c.entry)
	return nil
}

// Members implements [engine.Inspector].
func (e *Engine) Members(ctx context.Context, ids []string) (members []engine.Member, _ error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if c := e.known(id); c != nil {
			members = append(members, c.member)
		}
	}
	return members, nil
}

// known returns the client with that ID, or nil. Each client is in the shard of its ID,
// so Members locks one shard after the other.
func (e *Engine) known(id string) *client {
	s, now := e.lockShard(id)
	defer s.mu.Unlock()
	return s.client(id, now)
}

// client returns the client with that ID, or nil.
func (s *shard) client(id string, now int64) *client {
	c := s.store.clients[id]
	if c != nil && now >= c.expires {
		s.drop(&c.entry)
		return nil
	}
	return c
}
