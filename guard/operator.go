package guard

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
)

// ErrNotUnknown means that there is nothing to resolve: the outcome is known, the
// work still runs, or there is no record.
var ErrNotUnknown = errors.New("guard: outcome is not unknown")

// Status describes the record of a key.
type Status struct {
	Key   string        // as the engine stores it
	State State         // running, done, failed, unknown or absent
	Fence uint64        // the fence of the latest claim
	Began time.Time     // when that claim was granted, by the engine's clock
	Left  time.Duration // time left of the lease while the work runs; otherwise time until the record expires
}

// A State is the state of a record; see package engine.
type State = engine.State

// Lookup returns the status of a key. It changes nothing.
func (g *Guard[T]) Lookup(ctx context.Context, key Key) (Status, error) {
	k := &call{core: g.core, key: key}
	if err := k.resolveKey(ctx); err != nil {
		return Status{}, err
	}
	rec, err := k.lookup(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("guard: looking up %q: %w", k.hash, err)
	}
	return statusOf(rec), nil
}

// resolveKey computes the hash of a key, or uses the one that was passed to Hashed.
func (k *call) resolveKey(ctx context.Context) error {
	if k.key.hashed == "" {
		err := k.identify(ctx)
		if errors.Is(err, ErrDuplicate) { // called from inside the work itself
			return nil
		}
		return err
	}
	if !strings.HasPrefix(k.key.hashed, k.core.keyPrefix+":") {
		return fmt.Errorf("%w: %q does not belong to guard %q", interlock.ErrKey, k.key.hashed, k.core.policy.Name)
	}
	k.hash = k.key.hashed
	return nil
}

// List returns the status of the guard's keys in the given states, or of all keys if no
// state is given. It reads the engine page by page; a key may appear twice.
func (g *Guard[T]) List(ctx context.Context, states ...State) iter.Seq2[Status, error] {
	return g.core.list(ctx, states)
}

// Resolve settles an unknown outcome: the work was done, with result v. It fails with
// [ErrNotUnknown] if the outcome is not unknown.
func (g *Guard[T]) Resolve(ctx context.Context, key Key, v T) error {
	if g.policy.After == Keep {
		if _, err := g.encode(&v, newEncodeBuffer()); err != nil {
			return err // Complete would store the outcome without the result
		}
	}
	return g.decideUnknown(ctx, key, func(c *Claim[T]) error { return c.Complete(v) })
}

// Forget settles an unknown outcome: the work did not happen, and the next call runs.
// It fails with [ErrNotUnknown] if the outcome is not unknown.
func (g *Guard[T]) Forget(ctx context.Context, key Key) error {
	return g.decideUnknown(ctx, key, func(c *Claim[T]) error {
		return c.claim.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
	})
}

// decideUnknown claims a key whose outcome is unknown, so that no other operator or
// resolver decides at the same time, and calls decide.
func (g *Guard[T]) decideUnknown(ctx context.Context, key Key, decide func(*Claim[T]) error) error {
	s, err := g.Lookup(ctx, key)
	if err != nil {
		return err
	}
	k := &call{core: g.core, key: key, hash: s.Key, start: time.Now()}
	if s.State != engine.Unknown {
		return fmt.Errorf("%w: %q is %v", ErrNotUnknown, s.Key, s.State)
	}
	// A token's record lasts longer than others. A hashed key does not reveal that it
	// belongs to a token, so the record's remaining time counts as well.
	req, retain := k.request(), max(k.retain(), s.Left)
	req.TakeOver, req.Retain, req.Lease = true, retain, g.policy.Lease
	local := g.fallback.decided(s.Key) == engine.Unknown // this process decided it during an outage
	a, err := k.requestClaim(ctx, local, req)
	switch {
	case err != nil:
		return k.callerError(ctx, err)
	case !a.rec.Granted:
		return fmt.Errorf("%w: %q is %v by now", ErrNotUnknown, s.Key, a.rec.State)
	case !a.rec.TookOver:
		g.cleanUp(a.ledger, a.req, a.sent)
		return fmt.Errorf("%w: %q is absent by now", ErrNotUnknown, s.Key)
	}
	a.entry = &entry{key: s.Key} // not in the inflight table: no caller waits for it
	c := &Claim[T]{guard: g}
	c.claim.start(ctx, g.core, a, retain)
	defer g.inflight.evict(s.Key)
	return decide(c)
}

func (c *core) list(ctx context.Context, states []State) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		for cursor := ""; ; {
			recs, next, err := c.ledger.List(ctx, pattern(c.keyPrefix), cursor)
			if err != nil {
				yield(Status{}, fmt.Errorf("guard: listing %q: %w", c.policy.Name, err))
				return
			}
			for _, rec := range recs {
				if matchesState(rec.State, states) && !yield(statusOf(rec), nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// pattern returns the pattern that matches the keys of a guard.
func pattern(prefix string) string { return engine.Literal(prefix) + ":*" }

func matchesState(s State, states []State) bool {
	return len(states) == 0 || slices.Contains(states, s)
}

func statusOf(r engine.Record) Status {
	return Status{Key: r.Key, State: r.State, Fence: r.Fence, Began: r.Began, Left: r.Left}
}
