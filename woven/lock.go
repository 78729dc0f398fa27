package woven

import (
	"context"

	"github.com/interlock-go/interlock"
)

// Bg is the context of a function that has no context.
func Bg() context.Context { return context.Background() }

// NoErr is the pointer to the error of a function that returns no error.
func NoErr() *error { return nil }

// Back stores the context of a hold in a variable of the function, if the variable has
// type context.Context. The weaver cannot check that: it does not resolve type aliases.
func Back[C any](ctx context.Context, at *C) {
	if c, ok := any(at).(*context.Context); ok {
		*c = ctx //nolint:fatcontext // the function's own variable, once per call
	}
}

// lock acquires a lock. Most are a Mutex, which avoids an interface call.
func (st *state) lock(ctx context.Context, key string) (context.Context, *interlock.Hold, error) {
	own := st.client(ctx)
	if !st.rw {
		return own.Mutex(key).Lock(ctx)
	}
	return st.rule.Kind.Locker(own, key).Lock(ctx)
}
