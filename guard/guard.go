package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

// A Guard makes work that returns a T happen once. It is safe for concurrent use;
// make one for each operation, and keep it.
type Guard[T any] struct {
	*core
	resolve  func(ctx context.Context, key Key) (T, bool, error)
	holdsAny bool // T may hold a value of type any
}

// New returns a Guard that stores its records in the client's engine. It fails if
// the policy or an option is invalid, with every mistake in one error, or if the
// engine stores no records.
func New[T any](client *interlock.Client, p Policy, opts ...Option) (*Guard[T], error) {
	s := newSettings(opts)
	g := &Guard[T]{}
	if s.resolver != nil {
		find, ok := s.resolver.(func(context.Context, Key) (T, bool, error))
		if !ok {
			s.reject("Resolver: %T does not return the result type of a Guard[%v]", s.resolver, reflect.TypeFor[T]())
		}
		g.resolve = find
	}
	switch {
	case p.OnUnknown == Resolve && s.resolver == nil:
		s.reject("OnUnknown %q needs a Resolver: pass one to New", Resolve)
	case p.OnUnknown != Resolve && s.resolver != nil:
		s.reject("a Resolver is only called with OnUnknown %q: set it in the policy", Resolve)
	}
	if _, ok := s.codec.(JSON); ok && (p.After == "" || p.After == Keep) {
		if loss := LossOf(reflect.TypeFor[T]()); loss != "" {
			s.reject("a Guard[%v] cannot replay its results: %s; export the field, use another type, or set a codec with WithCodec", reflect.TypeFor[T](), loss)
		}
	}
	g.holdsAny = holdsAny(reflect.TypeFor[T](), map[reflect.Type]bool{})
	if client == nil {
		return nil, fmt.Errorf("guard: the client is nil: use interlock.New(nil) for an engine in this process")
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

// Do returns the result of fn for key, and calls fn unless an earlier call did. The
// first caller gets fn's result; later callers get a decoded copy. When the claim is
// lost, fn's context is canceled with an interlock.LostError as its cause.
//
// If fn returns an error, so does Do, and [Policy.OnError] decides what the next
// caller gets. If fn panics, does not return, times out or returns an error made
// by [OutcomeUnknown], the outcome is unknown, and [Policy.OnUnknown] decides. If
// the claim was lost before fn returned, the error also matches interlock.ErrLost.
// A result that could not be stored is not an error: see [Trace.Settled].
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

// Begin claims key, or finds the result of an earlier claim. The returned context
// is for the work and ends with the claim. On error it is the caller's own.
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
	g.tasks.Begin() // Close waits for this call, and then for the work
	defer g.tasks.End()
	inner, err := g.begin(ctx, k, c)
	if k.waitTimer != nil {
		k.waitTimer.Stop()
	}
	if err == nil && g.closed.Load() && !c.replayed {
		c.claim.retract(ErrClosed)
		inner, err = ctx, ErrClosed
	}
	reported := false
	defer func() {
		if !reported && c.claim.core != nil && !c.replayed { // a Trace function panicked
			c.claim.retract(nil)
		}
	}()
	k.report(ctx, &c.claim, c.replayed, err)
	reported = true
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
		v, err := g.decode(k, a.rec)
		if err != nil {
			return ctx, k.noResult(err)
		}
		c.value, c.replayed, c.keptFor = v, true, a.rec.Left
		return ctx, nil
	}
	c.claim.start(ctx, g.core, a, k.retain())
	switch {
	case a.unresolved != nil:
		return g.askResolver(ctx, k, c, a.unresolved)
	case k.key.expired:
		c.claim.retract(ErrTokenExpired)
		return ctx, ErrTokenExpired
	}
	return &c.claim, nil
}

// identify checks the key and computes its hash.
func (k *call) identify(ctx context.Context) error {
	c := k.core
	if err := k.key.check(c.policy.Scope); err != nil {
		return err
	}
	if !k.key.tokenExpiry.IsZero() && c.policy.After != Keep {
		return fmt.Errorf("%w %q: a token needs a stored result to replay: give the policy After %q", ErrPolicy, c.policy.Name, Keep)
	}
	k.hashKey()
	if ownsKey(ctx, k.hash) {
		d := k.duplicate(engine.Record{State: engine.Running})
		d.Self = true
		return d
	}
	return nil
}

// askResolver asks the resolver for the outcome of earlier work before the work runs again.
func (g *Guard[T]) askResolver(ctx context.Context, k *call, c *Claim[T], before *engine.Record) (context.Context, error) {
	known := false
	defer func() {
		if !known {
			_ = c.Abandon() // the outcome stays unknown
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
	c.value, c.replayed, c.keptFor = v, true, k.retain()
	return ctx, nil
}

// report counts and traces the verdict of a call.
func (k *call) report(ctx context.Context, granted *claim, replayed bool, err error) {
	c := k.core
	v := verdictOf(granted.unguarded, replayed, err)
	var waited time.Duration
	if v == Granted {
		waited = granted.startedAt.Sub(k.start)
	} else {
		waited = time.Since(k.start)
	}
	c.stats.countVerdict(v)
	c.stats.waited.ObserveTraced(waited, trace.ID(ctx, c.traceID))
	if !k.key.tokenExpiry.IsZero() {
		k.countToken(v, err)
	}
	if !k.askedEngine && k.hash != "" {
		c.stats.coalesced.Add(1)
	}
	if v == Unguarded || v == Granted && granted.localOnly {
		k.reportDegraded(granted)
	}
	if t := c.trace; t != nil && t.Checked != nil {
		e := Checked{Context: ctx, Origin: k.origin, Guard: c.policy.Name, Key: k.hash, Verdict: v, Fence: granted.fence, Waited: waited, Coalesced: !k.askedEngine, Local: granted.localOnly, Err: err}
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

// reportDegraded counts a run with less protection than usual and reports it to the client.
func (k *call) reportDegraded(granted *claim) {
	if granted.localOnly {
		k.core.stats.local.Add(1)
	}
	if client := k.core.client.Load(); client != nil {
		client.ReportDegraded(interlock.Degraded{Name: k.core.policy.Name, Key: k.hash, Local: granted.localOnly, Err: granted.unguarded})
	}
}

// verdictOf classifies how a call ended.
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

// Stats returns the counters so far.
func (g *Guard[T]) Stats() Stats { return g.stats.stats() }

// Policy returns the policy with every default filled in.
func (g *Guard[T]) Policy() Policy { return g.policy }

// Close refuses new work, ends all waiting with [ErrClosed], and waits until every
// claim is settled or ctx is done. Work that still runs then loses its claim, with
// interlock.ErrClosed as the reason, and its outcome is unknown. The error of Close says
// how many such claims there were.
func (g *Guard[T]) Close(ctx context.Context) error { return g.core.close(ctx) }
