package woven

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// Once claims the key of a site and returns the context for the work. If ok is false,
// the function returns at once: *errp has the reason, or the results are those of an
// earlier call. outs are pointers to the results without the error. errp is nil if the
// function returns no error.
func Once(ctx context.Context, s *Site, key Key, errp *error, outs ...any) (context.Context, *Run, bool) {
	st := s.load()
	ctx, r, err := s.begin(ctx, st, key, outs)
	switch {
	case err != nil:
		s.refuse(st, err, errp)
		return ctx, nil, false
	case r == nil:
		return ctx, nil, false
	}
	return ctx, r, true
}

// begin returns a run and its context, or nil if outs have the results of an earlier
// call.
func (s *Site) begin(ctx context.Context, st *state, key Key, outs []any) (context.Context, *Run, error) {
	k, err := s.guardKey(st, key)
	if err != nil {
		return ctx, nil, err
	}
	if err := st.checkResults(outs); err != nil {
		return ctx, nil, err
	}
	g, err := st.guard(ctx)
	if err != nil {
		return ctx, nil, err
	}
	inner, claim, err := g.Begin(ctx, k)
	if err != nil {
		return ctx, nil, err
	}
	if before, ok := claim.Result(); ok {
		if err := before.fill(outs); err != nil {
			return ctx, nil, &guard.NoResultError{Guard: st.policy.Name, Key: k.ID, Err: err}
		}
		return ctx, nil, nil
	}
	return inner, &Run{claim: claim}, nil
}

// A Run is a call that holds a claim. A nil Run is a call without one.
type Run struct {
	claim *guard.Claim[results]
	later bool // the function's body has not started
}

// Later marks that the function's body has not started: the directives below this one
// run first, and may refuse or panic. Until [Run.Begun] is called, the work has had no effect.
func (r *Run) Later() {
	if r != nil {
		r.later = true
	}
}

// Begun marks the start of the function's body.
func (r *Run) Begun() {
	if r != nil {
		r.later = false
	}
}

// Done settles the claim. It must be deferred directly, so that it notices a panic,
// which it passes on. A function that panicked or called runtime.Goexit leaves an
// unknown outcome.
func (r *Run) Done(errp *error, outs ...any) {
	if r == nil {
		return
	}
	p := recover()
	var err error
	switch {
	case r.later:
		err = r.claim.Free()
	case p != nil || !returned():
		err = r.claim.Abandon()
	case errp != nil && *errp != nil:
		err = r.claim.Fail(*errp)
	default:
		err = r.claim.Complete(results{out: outs})
	}
	if errp != nil && errors.Is(err, interlock.ErrLost) {
		addLoss(errp, err)
	}
	if p != nil {
		panic(p)
	}
}

// returned reports whether the function that deferred our caller has returned. After
// runtime.Goexit, or a panic that recover does not see, package runtime makes the
// deferred call, not the function.
func returned() bool {
	var pc [1]uintptr
	if runtime.Callers(3, pc[:]) == 0 { // Callers, returned, Done
		return false
	}
	f := runtime.FuncForPC(pc[0] - 1)
	if f == nil {
		return false
	}
	return !ends(f.Name())
}

// ends reports whether a function of package runtime runs deferred calls after a panic
// or runtime.Goexit. Another package may be called runtime.example.com/x.
func ends(name string) bool {
	return strings.HasPrefix(name, "runtime.") && !strings.Contains(name, "/") && name != "runtime.deferreturn"
}
