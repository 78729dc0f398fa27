// Package contexts has work that uses a context from outside, and some that does not.
package contexts

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

var background = context.Background()

func work(ctx context.Context) error { return ctx.Err() }

func locks(ctx context.Context, m *interlock.Mutex, s *interlock.Striped, l interlock.Locker) {
	_ = m.Do(ctx, func(held context.Context) error {
		_ = work(held)
		return work(ctx) // want `ctx is a context from outside of Do.*use the parameter of the function, held`
	})
	_ = m.Do(ctx, func(context.Context) error {
		return work(ctx) // want `use the parameter of the function$`
	})
	_ = s.Do(ctx, func(_ context.Context, _ int) error {
		return work(ctx) // want `outside of Do`
	})
	_ = l.Do(ctx, func(held context.Context) error {
		go func() { _ = work(ctx) }() // want `outside of Do`
		return work(held)
	})
	_, _ = interlock.Call(ctx, m, func(held context.Context) (int, error) {
		return 0, work(ctx) // want `outside of Call`
	})
	_ = interlock.Wrap(func(string) interlock.Locker { return m }, func(held context.Context, _ string) (int, error) {
		return 0, work(ctx) // want `outside of Wrap`
	})
}

func nested(ctx context.Context, m, n *interlock.Mutex) error {
	return m.Do(ctx, func(outer context.Context) error {
		return n.Do(outer, func(inner context.Context) error {
			_ = work(ctx)      // want `ctx is a context from outside`
			return work(outer) // want `outer is a context from outside`
		})
	})
}

func guards(ctx context.Context, g *guard.Guard[int]) {
	_, _ = g.Do(ctx, guard.ID("a"), func(held context.Context) (int, error) {
		return 0, work(ctx) // want `outside of Do`
	})
	_ = guard.Wrap(g, guard.ID, func(held context.Context, _ string) (int, error) {
		return 0, work(ctx) // want `outside of Wrap`
	})
}

type other struct{}

func (other) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

func fine(ctx context.Context, m *interlock.Mutex) context.Context {
	var kept context.Context
	_ = m.Do(ctx, func(ctx context.Context) error {
		kept = ctx
		inner, stop := context.WithCancel(ctx)
		defer stop()
		_ = work(background)
		return work(inner)
	})
	_, _ = interlock.Call(ctx, m, func(ctx context.Context) (int, error) { return 0, work(ctx) },
		func(context.Context, *interlock.ContendedError) (int, error) { return 0, work(ctx) })
	_ = other{}.Do(ctx, func(context.Context) error { return work(ctx) })
	return kept
}
