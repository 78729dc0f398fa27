package woven

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock"
)

// Bg is the context of a function that has none.
func Bg() context.Context { return context.Background() }

// Back puts the context of a hold where the function has its own, if one fits there:
// that a type is context.Context by another name, only the compiler knows.
func Back[C any](ctx context.Context, at *C) {
	if c, ok := any(at).(*context.Context); ok {
		*c = ctx //nolint:fatcontext // it is the function's own, once a call
	}
}

// Lock takes the lock of a site, and returns the context for the work. If it is
// not ok, the function returns at once: why is in *errp, unless the directive says
// otherwise. errp is nil if the function returns no error.
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

// lock takes a lock. Most are a mutex, which is not worth an interface.
func (st *state) lock(ctx context.Context, key string) (context.Context, *interlock.Hold, error) {
	own := st.client(ctx)
	if !st.shared {
		return own.Mutex(key).Lock(ctx)
	}
	return st.rule.Kind.Locker(own, key).Lock(ctx)
}

// A Held is a lock that is held. The zero value is none.
type Held struct {
	hold *interlock.Hold
	busy bool
}

// Unlock gives the lock up. It is deferred by a function that returns no error.
func (h Held) Unlock() { h.Done(nil) }

// Done gives the lock up, and is deferred by a function that returns an error. That
// the lock had been lost is one: what the function did, others may have done beside
// it. It is not kept in h where the error is, lest that be allocated.
func (h Held) Done(errp *error) {
	if h.hold == nil {
		return
	}
	if err := h.hold.Unlock(); err != nil && errp != nil && errors.Is(err, interlock.ErrLost) {
		blame(errp, err)
	}
}

// Busy tells whether another function is to be called in place of the one with the
// directive, as on-timeout=call says. It is not if an error is to be returned.
func (h Held) Busy() bool { return h.busy }

// blame adds to the error of a function that something was lost while it ran.
func blame(errp *error, lost error) {
	if !errors.Is(*errp, interlock.ErrLost) {
		*errp = errors.Join(*errp, lost)
	}
}
