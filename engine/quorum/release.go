package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine]. Where the attempt may still be on its way it
// is abandoned, so that it does not arrive after its end.
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.part(ctx, r, func(ctx context.Context, n *node, unsure bool) (engine.ReleaseResult, error) {
		if unsure {
			return n.Abandon(ctx, r)
		}
		return n.Release(ctx, r)
	})
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	return e.part(ctx, r, func(ctx context.Context, n *node, _ bool) (engine.ReleaseResult, error) { return n.Abandon(ctx, r) })
}

// part ends a hold at all nodes, and answers when most have told the same.
func (e *Engine) part(ctx context.Context, r engine.Request, end func(context.Context, *node, bool) (engine.ReleaseResult, error)) (engine.ReleaseResult, error) {
	if err := e.admit(ctx, &r); err != nil {
		return engine.ReleaseResult{}, err
	}
	if err := e.enter(); err != nil {
		return engine.ReleaseResult{}, err
	}
	defer e.leave()
	turns := e.turns.all(r.Key, len(e.nodes))
	unsure := e.holds.leave(r)
	f := everywhere(ctx, e, func(ctx context.Context, i int) (engine.ReleaseResult, error) {
		defer turns[i].end()
		if err := turns[i].wait(ctx); err != nil {
			return engine.ReleaseResult{}, fmt.Errorf("quorum: %s still has the last call to answer: %w", e.nodes[i].name, engine.ErrUnavailable)
		}
		return end(ctx, e.nodes[i], unsure != nil && unsure[i])
	})
	p := partings{need: e.need, nodes: len(e.nodes)}
	for !p.done() {
		select {
		case a := <-f:
			p.add(a)
		case <-ctx.Done():
			return engine.ReleaseResult{}, fmt.Errorf("quorum: %q: gave up before most nodes had answered: %w: %w", r.Key, engine.ErrUnknown, context.Cause(ctx))
		}
	}
	return p.outcome(r.Key)
}

// partings are what the nodes have answered to one who leaves.
type partings struct {
	need, nodes int
	heard       int // answers and errors
	seen        [engine.NotYours + 1]int
	left, told  int // the most holds that are left, and listeners
	errs        []error
	unknown     bool
}

func (p *partings) add(a reply[engine.ReleaseResult]) {
	p.heard++
	if a.err != nil {
		p.errs = append(p.errs, fmt.Errorf("node %d: %w", a.node+1, a.err))
		p.unknown = p.unknown || !sure(a.err)
		return
	}
	p.seen[a.value.Outcome]++
	p.left, p.told = max(p.left, a.value.Count), max(p.told, a.value.Listeners)
}

func (p *partings) answered() int { return p.heard - len(p.errs) }

// done reports whether the outcome is known.
func (p *partings) done() bool {
	for _, n := range p.seen {
		if n >= p.need {
			return true
		}
	}
	return p.heard == p.nodes
}

// outcome is what most nodes have told. If they do not agree, some have lost the
// hold before: it was released if most may have had it, is somebody else's if most
// are, and was over otherwise.
func (p *partings) outcome(key string) (engine.ReleaseResult, error) {
	missing := p.nodes - p.answered()
	switch released, others := p.seen[engine.Released], p.seen[engine.NotYours]; {
	case p.answered() < p.need:
		return engine.ReleaseResult{}, p.failure(key)
	case released > 0 && released+missing >= p.need:
		return engine.ReleaseResult{Outcome: engine.Released, Count: p.left, Listeners: p.told}, nil
	case others > 0 && others+missing >= p.need:
		return engine.ReleaseResult{Outcome: engine.NotYours}, nil
	}
	return engine.ReleaseResult{Outcome: engine.AlreadyFree}, nil
}

// failure says why too few nodes have answered.
func (p *partings) failure(key string) error {
	kind := engine.ErrUnavailable
	if p.unknown || p.answered() > 0 {
		kind = engine.ErrUnknown
	}
	for _, err := range p.errs {
		if !engine.Temporary(err) && p.answered() == 0 {
			return fmt.Errorf("quorum: %q: %w", key, err) // asking again would not help
		}
	}
	return fmt.Errorf("quorum: %q: %d of %d nodes have answered, and %d are needed: %w",
		key, p.answered(), p.nodes, p.need, joined{kind, errors.Join(p.errs...)})
}
