package woven

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock"
)

// Bg is the context of a function without one.
func Bg() context.Context { return context.Background() }

// NoErr is the error of a function without one.
func NoErr() *error { return nil }

// Back stores the context of a hold in a variable of the function, if the variable has
// type context.Context. The weaver cannot check that: it does not resolve type aliases.
func Back[C any](ctx context.Context, at *C) {
	if c, ok := any(at).(*context.Context); ok {
		*c = ctx //nolint:fatcontext // the function's own variable, once per call
	}
}

// Lock acquires the lock of a site and returns the context for the work. If ok is
// false, the function returns at once with the reason in *errp. With on-timeout=skip or
// call, a contended lock leaves *errp unchanged. errp is nil if the function returns no
// error.
func Lock(ctx context.Context, s *Site, key Key, errp *error) (context.Context, Held, bool) {
	st := s.load()
	text, err := st.key(key)
	if err == nil {
		inner, hold, failed := st.lock(ctx, text)
		if failed == nil {
			return inner, Held{hold: hold}, true
		}
		err = failed
	}
	return ctx, Held{busy: s.refuse(st, err, errp)}, false
}

// lock acquires a lock. Most are a Mutex, which avoids an interface call.
func (st *state) lock(ctx context.Context, key string) (context.Context, *interlock.Hold, error) {
	own := st.client(ctx)
	if !st.rw {
		return own.Mutex(key).Lock(ctx)
	}
	return st.rule.Kind.Locker(own, key).Lock(ctx)
}

// A Held is a held lock. The zero value holds none.
type Held struct {
	hold *interlock.Hold
	busy bool
}

// Unlock releases the lock. A function that returns no error defers it.
func (h Held) Unlock() { h.Done(nil) }

// Done releases the lock. A function that returns an error defers it. If the lock was
// lost, another caller may have run meanwhile, so Done adds the loss to the error. errp is
// a parameter and not a field of h, so that the error is not allocated.
func (h Held) Done(errp *error) {
	if h.hold == nil {
		return
	}
	if err := h.hold.Unlock(); err != nil && errp != nil && errors.Is(err, interlock.ErrLost) {
		addLoss(errp, err)
	}
}

// Busy reports whether woven code must call the fallback of on-timeout=call.
func (h Held) Busy() bool { return h.busy }

// addLoss adds the loss of a lock or claim to the error of a function.
func addLoss(errp *error, lost error) {
	if !errors.Is(*errp, interlock.ErrLost) {
		*errp = errors.Join(*errp, lost)
	}
}
