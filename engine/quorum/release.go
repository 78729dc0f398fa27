package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine]. Where a request of the attempt may still be
// pending it abandons the attempt, so that the request is refused when it arrives.
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.releaseAll(ctx, r, func(ctx context.Context, n *node, maybePending bool) (engine.ReleaseResult, error) {
		if maybePending {
			return n.Abandon(ctx, r)
		}
		return n.Release(ctx, r)
	})
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.releaseAll(ctx, r, func(ctx context.Context, n *node, _ bool) (engine.ReleaseResult, error) { return n.Abandon(ctx, r) })
}

// releaseAll ends a hold at all nodes, and returns when a majority agrees.
func (e *Engine) releaseAll(ctx context.Context, r engine.Request, end func(context.Context, *node, bool) (engine.ReleaseResult, error)) (engine.ReleaseResult, error) {
	if err := e.check(ctx, &r); err != nil {
		return engine.ReleaseResult{}, err
	}
	if err := e.begin(); err != nil {
		return engine.ReleaseResult{}, err
	}
	defer e.end()
	// The tickets come first: a heal or an acquisition that begins later queues behind
	// this release at every node.
	tickets := e.order.all(r.Key, len(e.nodes))
	maybePending := e.holds.remove(r)
	replies := callAll(ctx, e, func(ctx context.Context, i int) (engine.ReleaseResult, error) {
		defer tickets[i].end()
		if err := tickets[i].wait(ctx); err != nil {
			return engine.ReleaseResult{}, fmt.Errorf("quorum: %s has not answered the previous call: %w", e.nodes[i].name, engine.ErrUnavailable)
		}
		return end(ctx, e.nodes[i], maybePending != nil && maybePending[i])
	})
	p := releaseVotes{need: e.need, nodes: len(e.nodes)}
	for !p.done() {
		select {
		case a := <-replies:
			p.add(a)
		case <-ctx.Done():
			return engine.ReleaseResult{}, fmt.Errorf("quorum: %q: gave up before a majority answered: %w: %w", r.Key, engine.ErrUnknown, context.Cause(ctx))
		}
	}
	return p.outcome(r.Key)
}

// releaseVotes counts the answers of the nodes to a release.
type releaseVotes struct {
	need, nodes     int
	replies         int // results and errors
	outcomes        [engine.NotYours + 1]int
	left, listeners int // the highest counts of any node
	errs            []error
	unknown         bool // a failed call may have released the hold
}

// add counts one answer. Counts and listeners are the highest of any node, because a node
// that was down for a while has seen fewer.
func (p *releaseVotes) add(a reply[engine.ReleaseResult]) {
	p.replies++
	if a.err != nil {
		p.errs = append(p.errs, fmt.Errorf("node %d: %w", a.node+1, a.err))
		p.unknown = p.unknown || !noEffect(a.err)
		return
	}
	p.outcomes[a.value.Outcome]++
	p.left, p.listeners = max(p.left, a.value.Count), max(p.listeners, a.value.Listeners)
}

// answered returns how many nodes returned a result.
func (p *releaseVotes) answered() int { return p.replies - len(p.errs) }

// done reports whether the outcome is known.
func (p *releaseVotes) done() bool {
	for _, n := range p.outcomes {
		if n >= p.need {
			return true
		}
	}
	return p.replies == p.nodes
}

// outcome returns the result of the majority. If no result has a majority, some nodes had
// lost the hold before. Then the outcome is Released if a majority may have had the hold,
// NotYours if a majority may have another holder, and AlreadyFree otherwise.
func (p *releaseVotes) outcome(key string) (engine.ReleaseResult, error) {
	missing := p.nodes - p.answered()
	switch released, others := p.outcomes[engine.Released], p.outcomes[engine.NotYours]; {
	case p.answered() < p.need:
		return engine.ReleaseResult{}, p.failure(key)
	case released > 0 && released+missing >= p.need:
		return engine.ReleaseResult{Outcome: engine.Released, Count: p.left, Listeners: p.listeners}, nil
	case others > 0 && others+missing >= p.need:
		return engine.ReleaseResult{Outcome: engine.NotYours}, nil
	}
	return engine.ReleaseResult{Outcome: engine.AlreadyFree}, nil
}

// failure returns why too few nodes answered.
func (p *releaseVotes) failure(key string) error {
	kind := engine.ErrUnavailable
	if p.unknown || p.answered() > 0 {
		kind = engine.ErrUnknown
	}
	for _, err := range p.errs {
		if !engine.Temporary(err) && p.answered() == 0 {
			return fmt.Errorf("quorum: %q: %w", key, err) // a retry would not help
		}
	}
	return fmt.Errorf("quorum: %q: %d of %d nodes answered, and %d are needed: %w",
		key, p.answered(), p.nodes, p.need, kindError{kind, errors.Join(p.errs...)})
}
