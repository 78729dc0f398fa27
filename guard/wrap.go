package guard

import "context"

// Wrap returns a function that runs fn once for each key(a).
func Wrap[A, T any](g *Guard[T], key func(A) Key, fn func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		return g.Do(ctx, key(a), func(ctx context.Context) (T, error) { return fn(ctx, a) })
	}
}
