package woven

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// Once claims the key of a site for a call of its function, and returns the context
// for the work. If it is not ok, the function returns at once: *errp says why, or
// outs, which point to its other results, have those of an earlier call. errp is
// nil if the function returns no error.
func Once(ctx context.Context, s *Site, key Key, errp *error, outs ...any) (context.Context, *Run, bool) {
	st := s.load()
	r, err := s.begin(ctx, st, key, outs)
	switch {
	case err != nil:
		s.refuse(ctx, st, err, errp)
		return ctx, nil, false
	case r == nil:
		return ctx, nil, false
	}
	r.errp = errp
	return &r.carrier, r, true
}

// begin returns a run, or nil if outs have the results of an earlier one.
func (s *Site) begin(ctx context.Context, st *state, key Key, outs []any) (*Run, error) {
	k, err := s.guardKey(st, key)
	if err != nil {
		return nil, err
	}
	if err := st.checkResults(outs); err != nil {
		return nil, err
	}
	g, err := st.guard(ctx)
	if err != nil {
		return nil, err
	}
	inner, claim, err := g.Begin(ctx, k)
	if err != nil {
		return nil, err
	}
	if before, ok := claim.Result(); ok {
		if err := before.fill(outs); err != nil {
			return nil, &guard.NoResultError{Guard: st.policy.Name, Key: k.ID, Err: err}
		}
		return nil, nil //nolint:nilnil // there is nothing to run
	}
	r := &Run{claim: claim}
	r.carrier = carrier{inner, r}
	return r, nil
}

// A Run is a call of a function that is to happen once. A nil one is any other.
type Run struct {
	carrier carrier
	claim   *guard.Claim[results]
	errp    *error
	void    bool // another directive of the same function has refused
}

// Done settles what became of the call. It is deferred itself, and not called by
// another deferred function, so that it notices a panic; it passes that on. A
// function that panicked or called runtime.Goexit leaves an outcome that nobody
// knows.
func (r *Run) Done(errp *error, outs ...any) {
	if r == nil {
		return
	}
	p := recover()
	var err error
	switch {
	case r.void:
		err = r.claim.Free()
	case p != nil || !returned():
		err = r.claim.Abandon()
	case errp != nil && *errp != nil:
		err = r.claim.Fail(*errp)
	default:
		err = r.claim.Complete(results{out: outs})
	}
	if errp != nil && errors.Is(err, interlock.ErrLost) {
		blame(errp, err)
	}
	if p != nil {
		panic(p)
	}
}

// returned tells whether the function that deferred our caller has returned. If it
// was ended by runtime.Goexit, or by a panic of which recover says nothing, the
// deferred call comes from package runtime, and not from the function.
func returned() bool {
	var pc [1]uintptr
	if runtime.Callers(3, pc[:]) == 0 { // Callers, returned, Done
		return false
	}
	f := runtime.FuncForPC(pc[0] - 1)
	if f == nil {
		return false
	}
	name := f.Name()
	return name == "runtime.deferreturn" || !strings.HasPrefix(name, "runtime.")
}

// A carrier is the context of a run. Other directives of the function find it.
type carrier struct {
	context.Context //nolint:containedctx // it is one
	run             *Run
}

type runKey struct{}

// Value implements context.Context.
func (c *carrier) Value(key any) any {
	if key == (runKey{}) {
		return c.run
	}
	return c.Context.Value(key)
}

// voidRun tells the run of the same call of a function that nothing has happened,
// since another directive has refused. They have the same error to return, and no
// other call has.
func voidRun(ctx context.Context, errp *error) {
	if errp == nil {
		return
	}
	if r, ok := ctx.Value(runKey{}).(*Run); ok && r.errp == errp {
		r.void = true
	}
}
