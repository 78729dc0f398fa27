package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A prober asks all nodes how they are.
type prober struct{ *Engine }

// Probe implements [engine.Prober]. Its notices are which nodes are down, which sit
// out and for how long, and what is left to lose.
func (p prober) Probe(ctx context.Context) (engine.Health, error) {
	if err := ctx.Err(); err != nil {
		return engine.Health{}, err
	}
	if err := p.enter(); err != nil {
		return engine.Health{}, err
	}
	defer p.leave()
	type state struct {
		health engine.Health
		out    time.Duration
	}
	h := engine.Health{Topology: engine.Quorum, Parts: make([]engine.Health, len(p.nodes)), Quorum: p.need}
	replies := everywhere(ctx, p.Engine, func(ctx context.Context, i int) (s state, err error) {
		s.health, err = p.nodes[i].health(ctx)
		if err == nil {
			s.out, err = p.nodes[i].sitsOut(ctx, p.longest)
		}
		return s, err
	})
	notices, counting := make([]string, len(p.nodes)), 0
	for range p.nodes {
		select {
		case a := <-replies:
			h.Parts[a.node] = a.value.health
			h.Parts[a.node].Name = p.nodes[a.node].name
			switch {
			case a.err != nil:
				notices[a.node] = fmt.Sprintf("%s does not answer: %v", p.nodes[a.node].name, a.err)
			case a.value.out > 0:
				notices[a.node] = fmt.Sprintf("%s was started anew and does not count for another %v",
					p.nodes[a.node].name, a.value.out.Round(time.Second))
			default:
				counting++
			}
		case <-ctx.Done():
			return engine.Health{}, context.Cause(ctx)
		}
	}
	for _, n := range notices {
		if n != "" {
			h.Notices = append(h.Notices, n)
		}
	}
	switch spare := counting - p.need; {
	case spare < 0:
		h.Notices = append(h.Notices, fmt.Sprintf("%d of %d nodes count, and %d are needed: nothing is granted", counting, len(p.nodes), p.need))
	case spare == 0:
		h.Notices = append(h.Notices, fmt.Sprintf("%d of %d nodes count, and all of them are needed: the next to fail stops everything", counting, len(p.nodes)))
	}
	return h, nil
}

// unheard is what a part is made of that has not said so.
const unheard engine.Topology = "unknown"

// health is how a node is, as far as it tells. An error is that it is down.
func (n *node) health(ctx context.Context) (engine.Health, error) {
	if n.can.Prober == nil {
		return n.silent(fmt.Errorf("quorum: %s does not tell how it is: %w", n.name, errors.ErrUnsupported)), nil
	}
	h, err := n.can.Prober.Probe(ctx)
	if err != nil {
		return n.silent(err), err
	}
	if len(h.Nodes) == 1 && h.Nodes[0].Err != nil {
		return h, h.Nodes[0].Err
	}
	return h, nil
}

// silent is how a node is that does not say.
func (n *node) silent(err error) engine.Health {
	return engine.Health{Topology: unheard, Nodes: []engine.Node{{Addr: n.name, Err: err}}}
}
