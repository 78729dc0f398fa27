package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
)

// A Guard makes work that returns a T happen once. It is safe for concurrent use;
// make one for each operation, and keep it.
type Guard[T any] struct {
	*core
	resolve func(ctx context.Context, key Key) (T, bool, error)
}

// New returns a Guard that keeps its records where client keeps its locks. It
// fails if the policy or an option cannot be meant, with all that is wrong, or if
// the client's engine keeps no records.
func New[T any](client *interlock.Client, p Policy, opts ...Option) (*Guard[T], error) {
	s := newSettings(opts)
	g := &Guard[T]{}
	if s.resolver != nil {
		find, ok := s.resolver.(func(context.Context, Key) (T, bool, error))
		if !ok {
			s.reject("Resolver: %T does not return what a Guard[%v] does", s.resolver, reflect.TypeFor[T]())
		}
		g.resolve = find
	}
	switch {
	case p.OnUnknown == Resolve && s.resolver == nil:
		s.reject("OnUnknown %q needs a Resolver: pass one to New", Resolve)
	case p.OnUnknown != Resolve && s.resolver != nil:
		s.reject("a Resolver is only asked with OnUnknown %q: set it in the policy", Resolve)
	}
	if client == nil {
		return nil, fmt.Errorf("guard: there is no client: use interlock.New(nil) for an engine in this process")
	}
	var err error
	g.core, err = newCore(client, p, s)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Must returns g, or panics. It is for guards that are package variables.
func Must[T any](g *Guard[T], err error) *Guard[T] {
	if err != nil {
		panic(err)
	}
	return g
}

// Do returns the result of fn for key, calling it if nobody has yet. Whoever calls
// it gets what fn returned; who comes later, what the codec made of that. The context
// fn gets ends when the claim is lost, with an interlock.LostError as its cause.
//
// If fn returns an error, so does Do, and [Policy.OnError] says what the next
// caller gets. If fn panics, does not return, runs out of time or returns an
// error made by [OutcomeUnknown], nobody knows what became of it, and [Policy.OnUnknown]
// says. If the claim was lost before fn returned, the error also matches
// interlock.ErrLost. That a result could not be stored is no error: see
// [Trace.Settled].
func (g *Guard[T]) Do(ctx context.Context, key Key, fn func(context.Context) (T, error)) (T, error) {
	ctx, claim, err := g.Begin(ctx, key)
	if err != nil {
		var zero T
		return zero, err
	}
	if claim.replayed {
		return claim.value, nil
	}
	return claim.run(ctx, fn)
}

// Begin claims key, or finds the result of an earlier claim. The context returned
// is for the work: it ends with the claim. On error it is the caller's own.
//
//	ctx, claim, err := orders.Begin(ctx, key)
//	if err != nil {
//		return err
//	}
//	defer claim.Abandon()
//	if order, ok := claim.Result(); ok {
//		return show(order)
//	}
//	order, err := place(ctx, cart)
//	if err != nil {
//		return errors.Join(err, claim.Fail(err))
//	}
//	return claim.Complete(order)
func (g *Guard[T]) Begin(ctx context.Context, key Key) (context.Context, *Claim[T], error) {
	k := &call{core: g.core, key: key, start: time.Now()}
	c := &Claim[T]{guard: g}
	g.background.Begin() // Close waits for the answer, and then for the work
	defer g.background.End()
	inner, err := g.begin(ctx, k, c)
	if k.timer != nil {
		k.timer.Stop()
	}
	if err == nil && g.closed.Load() && !c.replayed {
		c.claim.retract(ErrClosed)
		inner, err = ctx, ErrClosed
	}
	told := false
	defer func() {
		if !told && c.claim.core != nil && !c.replayed { // somebody's trace has panicked
			c.claim.retract(nil)
		}
	}()
	k.report(&c.claim, c.replayed, err)
	told = true
	if err != nil {
		return ctx, nil, err
	}
	return inner, c, nil
}

func (g *Guard[T]) begin(ctx context.Context, k *call, c *Claim[T]) (context.Context, error) {
	if err := k.identify(ctx); err != nil {
		return ctx, err
	}
	a, err := k.begin(ctx)
	switch {
	case err != nil:
		return ctx, err
	case a.unguarded == nil && !a.rec.Granted:
		v, err := g.decode(k.hash, a.rec)
		if err != nil {
			return ctx, k.noResult(err)
		}
		c.value, c.replayed = v, true
		return ctx, nil
	}
	c.claim.start(ctx, g.core, a, k.retain())
	switch {
	case a.unknown != nil:
		return g.clarify(ctx, k, c, a.unknown)
	case k.key.expired:
		c.claim.retract(ErrTokenExpired)
		return ctx, ErrTokenExpired
	}
	return &c.claim, nil
}

// identify works out what the engine calls the key.
func (k *call) identify(ctx context.Context) error {
	c := k.core
	if err := k.key.check(c.policy.Scope); err != nil {
		return err
	}
	if !k.key.until.IsZero() && c.policy.After != Keep {
		return fmt.Errorf("%w %q: tokens remember what they were spent on: give it After %q", ErrPolicy, c.policy.Name, Keep)
	}
	k.name()
	if does(ctx, k.hash) {
		d := k.duplicate(engine.Record{State: engine.Running})
		d.Self = true
		return d
	}
	return nil
}

// clarify asks the resolver what became of the work before it is done again.
func (g *Guard[T]) clarify(ctx context.Context, k *call, c *Claim[T], before *engine.Record) (context.Context, error) {
	known := false
	defer func() {
		if !known {
			_ = c.Abandon() // as unknown as before
		}
	}()
	v, happened, err := g.resolve(&c.claim, k.key)
	known = err == nil
	switch {
	case err != nil:
		return ctx, k.unknown(*before, err)
	case !happened && k.key.expired:
		c.claim.retract(ErrTokenExpired)
		return ctx, ErrTokenExpired
	case !happened:
		return &c.claim, nil
	}
	if err := c.Complete(v); err != nil && !errors.Is(err, ErrNotStored) {
		return ctx, err
	}
	c.value, c.replayed = v, true
	return ctx, nil
}

// report counts and traces what a call met.
func (k *call) report(granted *claim, replayed bool, err error) {
	c := k.core
	v := verdictOf(granted.unguarded, replayed, err)
	var waited time.Duration
	if v == Granted {
		waited = granted.begun.Sub(k.start)
	} else {
		waited = time.Since(k.start)
	}
	c.stats.met(v)
	c.stats.waited.Add(int64(waited))
	if !k.asked && k.hash != "" {
		c.stats.coalesced.Add(1)
	}
	if t := c.trace; t != nil && t.Checked != nil {
		e := Checked{Guard: c.policy.Name, Key: k.hash, Verdict: v, Fence: granted.fence, Waited: waited, Coalesced: !k.asked, Local: granted.alone, Err: err}
		if err == nil {
			e.Err = granted.unguarded
		}
		var dup *DuplicateError
		if errors.As(err, &dup) {
			e.Left = dup.RetryAfter
		}
		t.Checked(e)
	}
}

// verdictOf puts in a word what a call met.
func verdictOf(unguarded error, replayed bool, err error) Verdict {
	switch {
	case err == nil && unguarded != nil:
		return Unguarded
	case err == nil && replayed:
		return Replayed
	case err == nil:
		return Granted
	case errors.Is(err, ErrDuplicate):
		return Refused
	case errors.Is(err, ErrMismatch):
		return Mismatch
	case errors.Is(err, ErrUnknown):
		return UnknownBefore
	case errors.Is(err, ErrFailed):
		return FailedBefore
	case errors.Is(err, ErrNoResult):
		return NoResult
	case errors.Is(err, ErrDown), errors.As(err, new(*denialError)):
		return Down
	}
	return GaveUp
}

// Stats returns the numbers so far.
func (g *Guard[T]) Stats() Stats { return g.stats.stats() }

// Policy returns the policy with every default filled in.
func (g *Guard[T]) Policy() Policy { return g.policy }

// Close refuses new work, ends all waiting with [ErrClosed], and waits until all
// that runs is settled or ctx is done. What still runs then loses its claim, with
// interlock.ErrClosed as the reason, and leaves an outcome that nobody knows;
// Close says how much that was.
func (g *Guard[T]) Close(ctx context.Context) error { return g.core.shut(ctx) }
