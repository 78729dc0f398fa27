package gateway

import (
	"context"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A detached lock is waited for until the client goes, and held until the service
// behind has answered: it goes on with what it was told, whoever listens.
type detached struct {
	interlock.Locker
	key   string
	crowd *crowd // who waits, with it
}

// Lock implements [interlock.Locker].
func (d detached) Lock(ctx context.Context) (context.Context, *interlock.Hold, error) {
	if !d.crowd.join(d.key) {
		return ctx, nil, errCrowded
	}
	defer d.crowd.leave(d.key)
	alone, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	inner, hold, err := d.Locker.Lock(alone)
	if err != nil {
		stop()
		cancel(err)
		return inner, hold, err
	}
	if !stop() { // the client left just then
		_ = hold.Unlock() // whoever traces the locks hears of it
		return ctx, nil, context.Cause(ctx)
	}
	return context.WithValue(inner, fenceKey{}, hold.Fence()), hold, nil
}

type fenceKey struct{}

// fence returns the fence of the lock or claim of this rule, in whose context it asks.
func (l *layer) fence(ctx context.Context) uint64 {
	if l.Do.Verb == rule.Lock {
		fence, _ := ctx.Value(fenceKey{}).(uint64)
		return fence
	}
	fence, _ := guard.Fence(ctx)
	return fence
}
