package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// mostClients is how many a shard knows at most: far more than there are, and few
// enough that nobody who makes up new ones fills the memory.
const mostClients = 1000

// A client is one that made itself known.
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
		return fmt.Errorf("memory: client %q is to be known for %v: set its ID, and a life above zero", m.ID, life)
	}
	s, now := e.enter(m.ID)
	defer s.mu.Unlock()
	c := s.client(m.ID, now)
	if c == nil && len(s.kept.clients) >= mostClients {
		return fmt.Errorf("memory: %w: it knows %d clients already: register each once", engine.ErrFull, mostClients)
	}
	if c != nil {
		s.drop(&c.entry)
	}
	c = &client{entry{key: m.ID, sort: aClient, expires: after(now, life)}, m}
	s.kept.clients[m.ID] = c
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

func (e *Engine) known(id string) *client {
	s, now := e.enter(id)
	defer s.mu.Unlock()
	return s.client(id, now)
}

// client returns the client with that ID, or nil if it is not known.
func (s *shard) client(id string, now int64) *client {
	c := s.kept.clients[id]
	if c != nil && now >= c.expires {
		s.drop(&c.entry)
		return nil
	}
	return c
}
