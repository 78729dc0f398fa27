package interlock

import "context"

// Wrap returns fn, holding lock(a) while it runs. If lock returns nil, fn runs
// without one, so that locking may depend on the argument. What to do if the
// lock is not to be had is said by fallback, as in [Call].
func Wrap[A, R any](lock func(A) Locker, fn func(context.Context, A) (R, error), fallback ...Fallback[R]) func(context.Context, A) (R, error) {
	return func(ctx context.Context, a A) (R, error) {
		return Call(ctx, lock(a), func(ctx context.Context) (R, error) { return fn(ctx, a) }, fallback...)
	}
}
