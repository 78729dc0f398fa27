package quorum

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Register implements [engine.Inspector].
func (p inspector) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	_, err := gather(ctx, p.Engine, "register a client", func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, p.nodes[i].caps.Inspector.Register(ctx, m, life)
	})
	return err
}

// Members implements [engine.Inspector]. A client is registered if any node knows it;
// of different answers the most frequent one counts.
func (p inspector) Members(ctx context.Context, ids []string) ([]engine.Member, error) {
	byNode, err := gather(ctx, p.Engine, "look up clients", func(ctx context.Context, i int) ([]engine.Member, error) {
		return p.nodes[i].caps.Inspector.Members(ctx, ids)
	})
	if err != nil {
		return nil, err
	}
	votes := make(map[engine.Member]int)
	for i := range p.nodes {
		for _, m := range byNode[i] {
			// Equal map keys need times with one location and without a monotonic
			// reading.
			m.Since = time.Unix(0, m.Since.UnixNano())
			votes[m]++
		}
	}
	best := make(map[string]engine.Member)
	for m, n := range votes {
		if n > votes[best[m.ID]] {
			best[m.ID] = m
		}
	}
	var members []engine.Member
	// The result has the order of ids, and each client once.
	for _, id := range ids {
		if m, ok := best[id]; ok {
			members = append(members, m)
			delete(best, id)
		}
	}
	return members, nil
}

// Watch implements [engine.Inspector]. A notification of one node is enough: the
// renewal that follows asks the majority.
func (p inspector) Watch(id string) (wake <-chan struct{}, stop func()) {
	return p.subscribe(1, func(n *node) (<-chan struct{}, func()) { return n.caps.Inspector.Watch(id) })
}
