package interlock

import (
	"context"
	"errors"
)

// Call calls fn while holding lock and returns its result. What to do if the
// lock is not to be had is said by [OrElse] or [OrZero]; without either it is
// an error that matches [ErrContended]. A nil lock means none is needed.
//
//	stock, err := interlock.Call(ctx, client.Mutex("stock:42", interlock.Wait(time.Second)),
//		readStock, interlock.OrElse(readStaleStock))
func Call[T any](ctx context.Context, lock Locker, fn func(context.Context) (T, error), fallback ...Fallback[T]) (T, error) {
	if isNil(lock) {
		return fn(ctx)
	}
	var (
		result T
		began  bool
	)
	err := lock.Do(ctx, func(ctx context.Context) (err error) {
		began = true
		result, err = fn(ctx)
		return err
	})
	var busy *ContendedError
	if began || len(fallback) == 0 || !errors.As(err, &busy) {
		return result, err
	}
	return fallback[0](ctx, busy)
}

// A Fallback is called in place of the work when the lock is not to be had.
type Fallback[T any] func(ctx context.Context, busy *ContendedError) (T, error)

// OrElse makes [Call] return what fn returns if the lock is not to be had. fn
// runs without the lock.
func OrElse[T any](fn func(ctx context.Context, busy *ContendedError) (T, error)) Fallback[T] {
	return fn
}

// OrZero makes [Call] return the zero value and no error if the lock is not to
// be had.
func OrZero[T any]() Fallback[T] {
	return func(context.Context, *ContendedError) (T, error) {
		var zero T
		return zero, nil
	}
}

// OrValue makes [Call] return v and no error if the lock is not to be had.
func OrValue[T any](v T) Fallback[T] {
	return func(context.Context, *ContendedError) (T, error) { return v, nil }
}

// isNil tells whether no lock was meant, typed or not.
func isNil(lock Locker) bool {
	switch m := lock.(type) {
	case nil:
		return true
	case *Mutex:
		return m == nil
	case *Multi:
		return m == nil
	}
	return false
}
