package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A prober asks all nodes for their health.
type prober struct{ *Engine }

// Probe implements [engine.Prober]. Its notices name the nodes that are down or on
// probation. Another notice follows if no lock can be granted, or if one more failure would
// stop all locks.
func (p prober) Probe(ctx context.Context) (engine.Health, error) {
	if err := ctx.Err(); err != nil {
		return engine.Health{}, err
	}
	if err := p.begin(); err != nil {
		return engine.Health{}, err
	}
	defer p.end()
	// A state is a node's health, and for how much longer its votes do not count.
	type state struct {
		health    engine.Health
		probation time.Duration
	}
	h := engine.Health{Topology: engine.Quorum, Parts: make([]engine.Health, len(p.nodes)), Quorum: p.need}
	replies := callAll(ctx, p.Engine, func(ctx context.Context, i int) (s state, err error) {
		s.health, err = p.nodes[i].health(ctx)
		if err == nil {
			s.probation, err = p.nodes[i].probation(ctx, p.longest)
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
			case a.value.probation > 0:
				notices[a.node] = fmt.Sprintf("%s was restarted and does not count for another %v",
					p.nodes[a.node].name, a.value.probation.Round(time.Second))
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
		h.Notices = append(h.Notices, fmt.Sprintf("%d of %d nodes count, and %d are needed: no lock is granted", counting, len(p.nodes), p.need))
	case spare == 0:
		h.Notices = append(h.Notices, fmt.Sprintf("%d of %d nodes count, and all of them are needed: one more failure stops all locks", counting, len(p.nodes)))
	}
	return h, nil
}

// unknownTopology is the topology of a node that does not report it.
const unknownTopology engine.Topology = "unknown"

// health returns the health of a node. An error means that the node is down.
func (n *node) health(ctx context.Context) (engine.Health, error) {
	// A node without a probe is not down: it may vote.
	if n.caps.Prober == nil {
		return n.noHealth(fmt.Errorf("quorum: %s has no probe: %w", n.name, errors.ErrUnsupported)), nil
	}
	h, err := n.caps.Prober.Probe(ctx)
	if err != nil {
		return n.noHealth(err), err
	}
	// If a single server is down, its probe succeeds and reports one engine.Node with an Err.
	if len(h.Nodes) == 1 && h.Nodes[0].Err != nil {
		return h, h.Nodes[0].Err
	}
	return h, nil
}

// noHealth is the health of a node that does not report it.
func (n *node) noHealth(err error) engine.Health {
	return engine.Health{Topology: unknownTopology, Nodes: []engine.Node{{Addr: n.name, Err: err}}}
}
