package enginetest

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// A ledger is a wrapper whose calls can be made to fail.
type ledger struct {
	faulty *Faulty
	inner  engine.Ledger
}

// Claim implements [engine.Ledger].
func (l *ledger) Claim(ctx context.Context, c engine.Claim) (engine.Record, error) {
	x := l.faulty.next(ctx, OpClaim, c.Key)
	return withFault(l.faulty, ctx, x, func(ctx context.Context) (engine.Record, error) { return l.inner.Claim(ctx, c) })
}

// Renew implements [engine.Ledger].
func (l *ledger) Renew(ctx context.Context, cs []engine.Claim) []error {
	keys := make([]string, len(cs))
	for i, c := range cs {
		keys[i] = c.Key
	}
	cs = slices.Clone(cs) // the caller may change the slice before a late delivery
	x := l.faulty.next(ctx, OpClaimRenew, keys...)
	errs, err := withFault(l.faulty, ctx, x, func(ctx context.Context) ([]error, error) { return l.inner.Renew(ctx, cs), nil })
	if err != nil {
		errs = slices.Repeat([]error{err}, len(cs))
	}
	return errs
}

// Settle implements [engine.Ledger].
func (l *ledger) Settle(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	s.Result = slices.Clone(s.Result) // as in Renew
	x := l.faulty.next(ctx, OpSettle, s.Key)
	return withFault(l.faulty, ctx, x, func(ctx context.Context) (engine.Outcome, error) { return l.inner.Settle(ctx, s) })
}

// Lookup implements [engine.Ledger].
func (l *ledger) Lookup(ctx context.Context, key string) (engine.Record, error) {
	x := l.faulty.next(ctx, OpLookup, key)
	return withFault(l.faulty, ctx, x, func(ctx context.Context) (engine.Record, error) { return l.inner.Lookup(ctx, key) })
}

// List implements [engine.Ledger].
func (l *ledger) List(ctx context.Context, pattern, cursor string) ([]engine.Record, string, error) {
	type page struct {
		records []engine.Record
		next    string
	}
	x := l.faulty.next(ctx, OpLookup)
	p, err := withFault(l.faulty, ctx, x, func(ctx context.Context) (page, error) {
		records, next, err := l.inner.List(ctx, pattern, cursor)
		return page{records, next}, err
	})
	return p.records, p.next, err
}

// Watch implements [engine.Ledger].
func (l *ledger) Watch(key string) (wake <-chan struct{}, stop func()) {
	return l.faulty.withFaults(key, l.inner.Watch)
}
