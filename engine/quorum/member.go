package quorum

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Register implements [engine.Inspector].
func (p inspector) Register(ctx context.Context, m engine.Member, life time.Duration) error {
	_, err := gather(ctx, p.Engine, "registering", func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, p.nodes[i].can.Inspector.Register(ctx, m, life)
	})
	return err
}

// Members implements [engine.Inspector]. A client is known if any node knows it, as
// most of them tell.
func (p inspector) Members(ctx context.Context, ids []string) ([]engine.Member, error) {
	seen, err := gather(ctx, p.Engine, "looking for clients", func(ctx context.Context, i int) ([]engine.Member, error) {
		return p.nodes[i].can.Inspector.Members(ctx, ids)
	})
	if err != nil {
		return nil, err
	}
	told := make(map[engine.Member]int)
	for i := range p.nodes {
		for _, m := range seen[i] {
			m.Since = time.Unix(0, m.Since.UnixNano())
			told[m]++
		}
	}
	best := make(map[string]engine.Member)
	for m, n := range told {
		if n > told[best[m.ID]] {
			best[m.ID] = m
		}
	}
	var members []engine.Member
	for _, id := range ids {
		if m, ok := best[id]; ok {
			members = append(members, m)
			delete(best, id)
		}
	}
	return members, nil
}

// Watch implements [engine.Inspector]. One node is enough to tell of a seizure: the
// renewal that follows learns whether most say so.
func (p inspector) Watch(id string) (wake <-chan struct{}, stop func()) {
	return p.listen(1, func(n *node) (<-chan struct{}, func()) { return n.can.Inspector.Watch(id) })
}
