package gateway

import (
	"context"

	"github.com/interlock-go/interlock"
)

// A detachedLock waits for its lock only while the client is connected, but then holds it
// until the upstream has answered: the upstream continues when the client disconnects.
type detachedLock struct {
	interlock.Locker
	key     string
	waiting *waitLimit
}

// Lock implements [interlock.Locker].
func (d detachedLock) Lock(ctx context.Context) (context.Context, *interlock.Hold, error) {
	// The limit counts a request only until it has the lock, or gives up: holders do not
	// wait.
	if !d.waiting.enter(d.key) {
		return ctx, nil, errTooManyWaiters
	}
	defer d.waiting.leave(d.key)
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	inner, hold, err := d.Locker.Lock(detached)
	if err != nil {
		stop()
		cancel(err)
		return inner, hold, err
	}
	// AfterFunc has run: the context of the hold is canceled already, and useless.
	if !stop() { // the client left just now
		_ = hold.Unlock() // interlock.Client reports an error to its trace
		return ctx, nil, context.Cause(ctx)
	}
	return context.WithValue(inner, fenceKey{}, hold.Fence()), hold, nil
}

// fenceKey is the context key of a lock's fence. For the fence of a claim, see guard.Fence.
type fenceKey struct{}
