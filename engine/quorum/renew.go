package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// Renew implements [engine.Engine]. A lease is renewed if a majority renews it. A node
// that renews a hold still has it, so it counts even on probation. If a majority has the
// hold, a node that has lost it gets it again.
func (e *Engine) Renew(ctx context.Context, rs []engine.Request) []error {
	errs, sent, indexes := make([]error, len(rs)), make([]engine.Request, 0, len(rs)), make([]int, 0, len(rs))
	for i := range rs {
		if errs[i] = e.checkLease(ctx, &rs[i]); errs[i] == nil {
			sent, indexes = append(sent, rs[i]), append(indexes, i)
		}
	}
	if len(sent) == 0 {
		return errs
	}
	for i, err := range e.renew(ctx, sent) {
		errs[indexes[i]] = err
	}
	return errs
}

// renew sends all requests to all nodes. It returns as soon as each is decided; the
// goroutines finish their calls and heal their nodes afterwards.
func (e *Engine) renew(ctx context.Context, rs []engine.Request) []error {
	if err := e.begin(); err != nil {
		return slices.Repeat([]error{err}, len(rs))
	}
	defer e.end()
	v := newRenewals(e, rs)
	decided := make(chan struct{})
	replies := make(chan reply[[]error], len(e.nodes))
	for i, n := range e.nodes {
		e.running.Go(func() { // ends with the timeouts of its calls
			bounded, cancel := detached(ctx, e.timeout)
			results := n.Renew(bounded, rs)
			cancel()
			replies <- reply[[]error]{node: i, value: results}
			// v.missing reads the verdicts, which are complete when decided is closed.
			<-decided
			e.heal(ctx, i, v.missing(results))
		})
	}
	defer close(decided)
	for range e.nodes {
		select {
		case a := <-replies:
			v.add(a.value)
		// The nodes may still renew the leases, so a request without a majority is
		// ErrUnknown.
		case <-ctx.Done():
			return v.verdicts(context.Cause(ctx))
		}
		if v.undecided == 0 {
			break
		}
	}
	return v.verdicts(nil)
}

// heal restores holds at a node that has lost them. It never restores a lock that the
// majority has lost, nor one that was released here meanwhile.
func (e *Engine) heal(ctx context.Context, i int, rs []engine.Request) {
	if len(rs) == 0 {
		return
	}
	ctx, cancel := detached(ctx, e.timeout)
	defer cancel()
	for _, r := range rs {
		if ctx.Err() != nil {
			return // the next renewal continues
		}
		e.restore(ctx, i, r)
	}
}

// restore acquires one hold again at one node. The ticket prevents it from overtaking a
// release of this process. The hold is looked up only after the wait.
func (e *Engine) restore(ctx context.Context, i int, r engine.Request) {
	t := e.order.one(r.Key, i, len(e.nodes))
	defer t.end()
	if t.wait(ctx) != nil {
		return
	}
	known := e.holds.find(r)
	if known == nil || !slices.Contains(known.attempts, r.Attempt) {
		return
	}
	r.Retry = true // the attempt may have a tombstone at the node
	n := e.nodes[i]
	g, err := n.Acquire(ctx, r)
	if err == nil && r.Fenced && n.caps.Fencer != nil && g.Fence < known.fence {
		if n.caps.Fencer.Raise(ctx, r, known.fence) == nil {
			g.Fence = known.fence
		}
	}
	// The lock was released during the call. That release may have given up waiting for
	// this call, so the attempt is abandoned at the node.
	if maybePending := err != nil && !noEffect(err); !e.holds.recordLate(r, i, g.Fence, maybePending) && (maybePending || err == nil) {
		e.abandon(ctx, i, r)
	}
}

// renewals are the requests of one Renew and the votes on each. One goroutine, that of
// Renew, writes them. The others read them after decided is closed.
type renewals struct {
	engine    *Engine
	rs        []engine.Request
	votes     []votes
	undecided int
	verdict   []error // nil if a majority renewed it
}

// votes are the answers of the nodes to one request.
type votes struct {
	yes, no, failed int // renewed, not the holder, and any other error
	revoked         bool
	unknown         bool // a call without an answer may have renewed the lease
	errs            []error
	decided         bool
}

func newRenewals(e *Engine, rs []engine.Request) *renewals {
	return &renewals{engine: e, rs: rs, votes: make([]votes, len(rs)), undecided: len(rs), verdict: make([]error, len(rs))}
}

// add counts the answers of one node.
func (v *renewals) add(results []error) {
	for i := range v.votes {
		// A node that returns too few results has not answered the rest.
		err := engine.ErrUnavailable
		if i < len(results) {
			err = results[i]
		}
		b := &v.votes[i]
		b.add(err)
		if !b.decided && (b.yes >= v.engine.need || b.lost(v.engine)) {
			b.decided = true
			v.undecided--
		}
	}
}

// add counts one answer. ErrRevoked is also an ErrNotHolder, so it counts as a no.
func (b *votes) add(err error) {
	switch {
	case err == nil:
		b.yes++
	case errors.Is(err, engine.ErrNotHolder):
		b.no++
		b.revoked = b.revoked || errors.Is(err, engine.ErrRevoked)
	default:
		b.failed++
		b.unknown = b.unknown || !noEffect(err)
		b.errs = append(b.errs, err)
	}
}

// lost reports whether so many nodes lack the hold that no majority can have it.
func (b *votes) lost(e *Engine) bool { return b.no > len(e.nodes)-e.need }

// verdicts returns the results. A non-nil cause means that the caller stopped waiting.
func (v *renewals) verdicts(cause error) []error {
	for i := range v.votes {
		switch b := &v.votes[i]; {
		case b.yes >= v.engine.need:
			v.engine.holds.renew(v.rs[i])
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

// failure returns why it is unknown whether a majority renewed the lease.
func (v *renewals) failure(i int, cause error) error {
	b, kind := &v.votes[i], engine.ErrUnavailable
	if cause != nil || b.unknown || b.yes > 0 {
		kind = engine.ErrUnknown
	}
	return fmt.Errorf("quorum: %q: %d of %d nodes renewed it, and %d are needed: %w", v.rs[i].Key, b.yes, len(v.engine.nodes),
		v.engine.need, kindError{kind, errors.Join(append(b.errs, cause)...)})
}

// missing returns the holds that a node lacks and a majority has. Holds that an operator
// revoked are not restored.
func (v *renewals) missing(results []error) (rs []engine.Request) {
	for i, err := range results {
		if i < len(v.rs) && errors.Is(err, engine.ErrNotHolder) && !errors.Is(err, engine.ErrRevoked) && v.verdict[i] == nil && v.votes[i].yes >= v.engine.need {
			rs = append(rs, v.rs[i])
		}
	}
	return rs
}
