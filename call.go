package interlock

import (
	"context"
	"errors"
)

// Call calls fn while holding lock and returns its result. If the lock is
// contended, it calls the fallback ([OrElse], [OrZero], [OrValue]); without a fallback,
// the error matches [ErrContended]. With a nil lock, fn runs without a lock.
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

// Wrap returns a function that calls fn while holding lock(a). If lock returns
// nil, fn runs without a lock, so locking can depend on the argument. The
// fallback works as in [Call].
func Wrap[A, R any](lock func(A) Locker, fn func(context.Context, A) (R, error), fallback ...Fallback[R]) func(context.Context, A) (R, error) {
	return func(ctx context.Context, a A) (R, error) {
		return Call(ctx, lock(a), func(ctx context.Context) (R, error) { return fn(ctx, a) }, fallback...)
	}
}

// A Fallback replaces the work when the lock is contended. It runs without the
// lock.
type Fallback[T any] func(ctx context.Context, busy *ContendedError) (T, error)

// OrElse makes [Call] return fn's result if the lock is contended.
func OrElse[T any](fn func(ctx context.Context, busy *ContendedError) (T, error)) Fallback[T] {
	return fn
}

// OrZero makes [Call] return the zero value and no error if the lock is
// contended.
func OrZero[T any]() Fallback[T] {
	return func(context.Context, *ContendedError) (T, error) {
		var zero T
		return zero, nil
	}
}

// OrValue makes [Call] return v and no error if the lock is contended.
func OrValue[T any](v T) Fallback[T] {
	return func(context.Context, *ContendedError) (T, error) { return v, nil }
}

// isNil reports whether lock is nil or a nil pointer.
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
