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

// ErrNotUnknown means that there is nothing to resolve: the outcome is known, or
// the work still runs, or nobody has heard of it.
var ErrNotUnknown = errors.New("guard: there is no unknown outcome")

// Status is what is known of a key.
type Status struct {
	Key   string        // what the engine calls it
	State State         // what became of the work
	Fence uint64        // of the claim that decided or decides
	Began time.Time     // when that was granted, by the engine's clock
	Left  time.Duration // of its lease if it runs, and otherwise until it is forgotten
}

// A State is what is known of a key; see package engine.
type State = engine.State

// Lookup returns what is known of a key. It changes nothing.
func (g *Guard[T]) Lookup(ctx context.Context, key Key) (Status, error) {
	k := &call{core: g.core, key: key}
	if err := k.find(ctx); err != nil {
		return Status{}, err
	}
	rec, err := k.lookup(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("guard: looking up %q: %w", k.hash, err)
	}
	return statusOf(rec), nil
}

// find works out what the engine calls a key that an operator asks for.
func (k *call) find(ctx context.Context) error {
	if k.key.hashed == "" {
		err := k.identify(ctx)
		if errors.Is(err, ErrDuplicate) { // the operator is the one at work
			return nil
		}
		return err
	}
	if !strings.HasPrefix(k.key.hashed, k.core.escaped+":") {
		return fmt.Errorf("%w: %q is not one of %q", interlock.ErrKey, k.key.hashed, k.core.policy.Name)
	}
	k.hash = k.key.hashed
	return nil
}

// List returns what is known of the guard's keys, of those in one of the given
// states or of all. It goes through them a few at a time; one may come twice.
func (g *Guard[T]) List(ctx context.Context, states ...State) iter.Seq2[Status, error] {
	return g.core.list(ctx, states)
}

// Resolve says what became of work whose outcome is unknown: that it was done,
// with result v. It fails with [ErrNotUnknown] if there is no such thing.
func (g *Guard[T]) Resolve(ctx context.Context, key Key, v T) error {
	if g.policy.After == Keep {
		if _, err := g.encode(&v, newSheet()); err != nil {
			return err // better said now than kept as a tombstone
		}
	}
	return g.take(ctx, key, func(c *Claim[T]) error { return c.Complete(v) })
}

// Forget says of work whose outcome is unknown that it did not happen: the next
// call runs. It fails with [ErrNotUnknown] if there is no such thing.
func (g *Guard[T]) Forget(ctx context.Context, key Key) error {
	return g.take(ctx, key, func(c *Claim[T]) error {
		return c.claim.settle(engine.Settlement{Outcome: engine.Absent}, Freed, nil)
	})
}

// take claims a key whose outcome is unknown, so that whoever else looks at it
// does not decide at the same time, and decides.
func (g *Guard[T]) take(ctx context.Context, key Key, decide func(*Claim[T]) error) error {
	s, err := g.Lookup(ctx, key)
	if err != nil {
		return err
	}
	k := &call{core: g.core, key: key, hash: s.Key, start: time.Now()}
	if s.State != engine.Unknown {
		return fmt.Errorf("%w at %q: it is %v", ErrNotUnknown, s.Key, s.State)
	}
	// A token's record is kept for longer than others; who has only its hash does
	// not know that it is one.
	req, retain := k.request(), max(k.retain(), s.Left)
	req.TakeOver, req.Retain, req.Lease = true, retain, g.policy.Lease
	a, err := k.ask(ctx, g.local.decided(s.Key) == engine.Unknown, req)
	switch {
	case err != nil:
		return k.explain(ctx, err)
	case !a.rec.Granted:
		return fmt.Errorf("%w at %q: it is %v by now", ErrNotUnknown, s.Key, a.rec.State)
	case !a.rec.TookOver:
		g.cleanUp(a.ledger, a.req, a.sent)
		return fmt.Errorf("%w at %q: it is absent by now", ErrNotUnknown, s.Key)
	}
	a.seat = &seat{key: s.Key} // nobody here waits for it
	c := &Claim[T]{guard: g}
	c.claim.start(ctx, g.core, a, retain)
	defer g.desk.evict(s.Key)
	return decide(c)
}

func (c *core) list(ctx context.Context, states []State) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		for cursor := ""; ; {
			recs, next, err := c.ledger.List(ctx, pattern(c.escaped), cursor)
			if err != nil {
				yield(Status{}, fmt.Errorf("guard: listing %q: %w", c.policy.Name, err))
				return
			}
			for _, rec := range recs {
				if wanted(rec.State, states) && !yield(statusOf(rec), nil) {
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

// pattern matches the keys of a guard.
func pattern(escaped string) string { return literally(escaped) + ":*" }

// literally makes a pattern that only s itself matches.
func literally(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`).Replace(s)
}

func wanted(s State, states []State) bool { return len(states) == 0 || slices.Contains(states, s) }

func statusOf(r engine.Record) Status {
	return Status{Key: r.Key, State: r.State, Fence: r.Fence, Began: r.Began, Left: r.Left}
}
