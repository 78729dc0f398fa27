package enginetest

import (
	"context"
	"time"
)

// withFault makes a call with a fault; nil means without one.
func withFault[T any](f *Faulty, ctx context.Context, x *Fault, call func(context.Context) (T, error)) (none T, _ error) {
	if x == nil {
		return call(ctx)
	}
	switch x.Do {
	case LoseReply:
		call(ctx)
	case Duplicate:
		call(ctx)
		return call(ctx)
	case Delay:
		return deliverLate(f, ctx, x, call)
	case Hang:
		return none, x.error(f.hang(ctx))
	}
	return none, x.error(nil)
}

// deliverLate delivers the call after a delay, even if the caller has given up. Faulty.Wait
// waits for the goroutine.
func deliverLate[T any](f *Faulty, ctx context.Context, x *Fault, call func(context.Context) (T, error)) (none T, _ error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	f.late.Go(func() {
		time.Sleep(x.After)
		value, err := call(context.WithoutCancel(ctx))
		answered <- answer{value, err}
	})
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return none, x.error(context.Cause(ctx))
	}
}

// hang returns when the engine is healed, or with an error when ctx is done.
func (f *Faulty) hang(ctx context.Context) error {
	f.mu.Lock()
	healed := f.healed
	f.mu.Unlock()
	select {
	case <-healed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
