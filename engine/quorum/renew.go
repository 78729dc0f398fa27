package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// Renew implements [engine.Engine]. A lease begins anew if most nodes say so. A node
// that renews a hold remembers it, so it counts although it may sit out. One that
// has forgotten a hold which most still have is given it again.
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	errs, sent, at := make([]error, len(rs)), make([]engine.Request, 0, len(rs)), make([]int, 0, len(rs))
	for i := range rs {
		if errs[i] = e.admitLease(ctx, &rs[i]); errs[i] == nil {
			sent, at = append(sent, rs[i]), append(at, i)
		}
	}
	if len(sent) == 0 {
		return errs
	}
	for i, err := range e.renew(ctx, sent) {
		errs[at[i]] = err
	}
	return errs
}

func (e *Engine) renew(ctx context.Context, rs []engine.Request) []error {
	if err := e.enter(); err != nil {
		return slices.Repeat([]error{err}, len(rs))
	}
	defer e.leave()
	v := newRenewals(e, rs)
	decided := make(chan struct{})
	replies := make(chan reply[[]error], len(e.nodes))
	for i, n := range e.nodes {
		e.running.Go(func() { // until the bound of its calls is over
			bounded, cancel := deadline(ctx, e.bound)
			said := n.Renew(bounded, rs)
			cancel()
			replies <- reply[[]error]{node: i, value: said}
			<-decided
			e.heal(ctx, i, v.forgotten(said))
		})
	}
	defer close(decided)
	for range e.nodes {
		select {
		case a := <-replies:
			v.add(a.value)
		case <-ctx.Done():
			return v.verdicts(context.Cause(ctx))
		}
		if v.undecided == 0 {
			break
		}
	}
	return v.verdicts(nil)
}

// heal gives a node the holds again that it has forgotten and most others have. It
// never brings back a lock that is lost, nor one that was released here meanwhile.
func (e *Engine) heal(ctx context.Context, i int, rs []engine.Request) {
	if len(rs) == 0 {
		return
	}
	ctx, cancel := deadline(ctx, e.bound)
	defer cancel()
	for _, r := range rs {
		if ctx.Err() != nil {
			return // the next renewal goes on with it
		}
		e.restore(ctx, i, r)
	}
}

func (e *Engine) restore(ctx context.Context, i int, r engine.Request) {
	t := e.turns.one(r.Key, i, len(e.nodes))
	defer t.end()
	if t.wait(ctx) != nil {
		return
	}
	known := e.holds.find(r)
	if known == nil || !slices.Contains(known.attempts, r.Attempt) {
		return
	}
	r.Retry = true
	n := e.nodes[i]
	g, err := n.Acquire(ctx, r)
	if err == nil && r.Fenced && n.can.Fencer != nil && g.Fence < known.fence {
		if n.can.Fencer.Raise(ctx, r, known.fence) == nil {
			g.Fence = known.fence
		}
	}
	if unsure := err != nil && !sure(err); !e.holds.saw(r, i, g.Fence, unsure) && (unsure || err == nil) {
		e.abandon(ctx, i, r)
	}
}

// renewals are requests to renew leases, and what the nodes have answered to each.
type renewals struct {
	engine    *Engine
	rs        []engine.Request
	votes     []votes
	undecided int
	verdict   []error
}

// votes are the answers to one request.
type votes struct {
	yes, no, other int
	revoked        bool
	unknown        bool
	errs           []error
	decided        bool
}

func newRenewals(e *Engine, rs []engine.Request) *renewals {
	return &renewals{engine: e, rs: rs, votes: make([]votes, len(rs)), undecided: len(rs), verdict: make([]error, len(rs))}
}

// add counts the answers of one node.
func (v *renewals) add(said []error) {
	for i := range v.votes {
		err := engine.ErrUnavailable
		if i < len(said) {
			err = said[i]
		}
		b := &v.votes[i]
		b.add(err)
		if !b.decided && (b.yes >= v.engine.need || b.lost(v.engine)) {
			b.decided = true
			v.undecided--
		}
	}
}

func (b *votes) add(err error) {
	switch {
	case err == nil:
		b.yes++
	case errors.Is(err, engine.ErrNotHolder):
		b.no++
		b.revoked = b.revoked || errors.Is(err, engine.ErrRevoked)
	default:
		b.other++
		b.unknown = b.unknown || !sure(err)
		b.errs = append(b.errs, err)
	}
}

// lost reports whether so many nodes do not have the hold that most cannot.
func (b *votes) lost(e *Engine) bool { return b.no > len(e.nodes)-e.need }

// verdicts are the answers. If cause is not nil the caller did not wait for all.
func (v *renewals) verdicts(cause error) []error {
	for i := range v.votes {
		switch b := &v.votes[i]; {
		case b.yes >= v.engine.need:
			v.engine.holds.renewed(v.rs[i])
		case b.lost(v.engine) && b.revoked:
			v.verdict[i] = engine.ErrRevoked
		case b.lost(v.engine):
			v.verdict[i] = engine.ErrNotHolder
		default:
			v.verdict[i] = v.failure(i, cause)
		}
	}
	return v.verdict
}

// failure says why it is not known whether most nodes have renewed a lease.
func (v *renewals) failure(i int, cause error) error {
	b, kind := &v.votes[i], engine.ErrUnavailable
	if cause != nil || b.unknown || b.yes > 0 {
		kind = engine.ErrUnknown
	}
	return fmt.Errorf("quorum: %q: %d of %d nodes have renewed it, and %d are needed: %w", v.rs[i].Key, b.yes, len(v.engine.nodes),
		v.engine.need, joined{kind, errors.Join(append(b.errs, cause)...)})
}

// forgotten are the holds that a node with these answers does not have, and most
// others do. Those taken away by an operator are not given again.
func (v *renewals) forgotten(said []error) (rs []engine.Request) {
	for i, err := range said {
		if i < len(v.rs) && errors.Is(err, engine.ErrNotHolder) && !errors.Is(err, engine.ErrRevoked) && v.verdict[i] == nil && v.votes[i].yes >= v.engine.need {
			rs = append(rs, v.rs[i])
		}
	}
	return rs
}
