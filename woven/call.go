package woven

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// A Call is one call of a function with locks or quotas. The function defers [Call.Done] before its
// first directive.
//
// Every woven package compiles the code for the types of its Calls, so no field or method
// mentions a generic type.
type Call struct {
	Refused bool // the function must return at once
	Busy    bool // the function must return the results of its fallback: see on-timeout=call and on-limit=call

	count int
	few   [2]held // the first two, which need no allocation
	more  []held
}

// A held is the lock, claim or unit of a directive.
type held interface {
	// end releases the lock or settles the claim. how, err and outs say how the function
	// ended, with which error and results.
	end(how ending, err error, outs []any) error
}

// An ending says how far a function got.
type ending uint8

const (
	notStarted ending = iota // a directive refused or panicked
	unknown                  // the body panicked or called runtime.Goexit
	finished                 // the body returned
)

// Lock acquires the lock of a site and returns the context for the work. If the call is
// Refused, *errp has the reason. With on-timeout=skip or call, a contended lock leaves *errp
// unchanged. errp is nil if the function returns no error.
func (c *Call) Lock(ctx context.Context, s *Site, key Key, errp *error) context.Context {
	st := load(s)
	text, err := st.key(key)
	if err == nil {
		inner, hold, failed := st.lock(ctx, text)
		if failed == nil {
			c.push(lockHeld{hold})
			return inner
		}
		err = failed
	}
	if st.err != nil {
		st.calledWith(interlock.From(ctx))
	}
	c.Refused = true // also if refuse panics
	c.Busy = st.refuse(err, errp)
	return ctx
}

// Limit takes a unit of the quota of a site, and returns ctx. If the call is Refused, *errp
// has the reason, as with [Call.Lock].
func (c *Call) Limit(ctx context.Context, s *Site, key Key, errp *error) context.Context {
	st := load(s)
	unit, err := st.take(ctx, key)
	if err == nil {
		c.push(unitHeld{unit, st.rule.OnError == guard.Free})
		return ctx
	}
	if st.err != nil {
		st.calledWith(interlock.From(ctx))
	}
	c.Refused = true // also if refuse panics
	c.Busy = st.refuse(err, errp)
	return ctx
}

// Done ends the directives, the lowest first. errp is a parameter and not a field of c, so
// that the error is not allocated.
func (c *Call) Done(errp *error) {
	how := finished
	if c.Refused {
		how = notStarted
	}
	if c.count > 0 {
		c.end(how, errp, nil)
	}
}

// A GuardedCall is one call of a function with a guard, and possibly locks.
type GuardedCall struct {
	Call

	// Later means that the function's body has not started: a lower directive may still
	// refuse or panic. Guards then know that the work has had no effect.
	Later bool

	// Done ends the directives, the lowest first. It must be deferred directly, so that it
	// notices a panic; it then panics again. It is a field, because the compiler generates
	// an extra function for each deferred call of a method.
	Done func()

	claimed bool // a guard is among the directives that apply
	errp    *error
	outs    []any
}

// Guarded begins a call. errp points to the error of the function, and is nil if the
// function returns none. outs are pointers to the other results. It is not inlined,
// because inlining would make woven functions slower to compile.
//
//go:noinline
func Guarded(errp *error, outs ...any) *GuardedCall {
	c := &GuardedCall{Later: true, errp: errp, outs: outs}
	c.Done = c.done
	return c
}

// Lock is [Call.Lock]. It is not inlined, for the same reason.
//
//go:noinline
func (c *GuardedCall) Lock(ctx context.Context, s *Site, key Key) context.Context {
	return c.Call.Lock(ctx, s, key, c.errp)
}

// Limit is [Call.Limit]. It is not inlined, for the same reason.
//
//go:noinline
func (c *GuardedCall) Limit(ctx context.Context, s *Site, key Key) context.Context {
	return c.Call.Limit(ctx, s, key, c.errp)
}

// Once claims the key of a site and returns the context for the work. If the call is
// Refused, the error has the reason, or the results are those of an earlier call.
func (c *GuardedCall) Once(ctx context.Context, s *Site, key Key) context.Context {
	st := load(s)
	inner, claim, err := st.begin(ctx, key, c.outs)
	if claim != nil {
		c.claimed = true
		c.push(claimHeld{claim})
		return inner
	}
	if err != nil {
		if st.err != nil {
			st.calledWith(interlock.From(ctx))
		}
		st.refuse(err, c.errp)
	}
	c.Refused = true
	return ctx
}

// done is Done.
func (c *GuardedCall) done() {
	if !c.claimed {
		c.Call.Done(c.errp) // does not stop a panic
		return
	}
	p := recover()
	how := finished
	switch {
	case c.Later:
		how = notStarted
	case p != nil || !returned():
		how = unknown
	}
	c.end(how, c.errp, c.outs)
	if p != nil {
		panic(p)
	}
}

// end ends the directives. If a lock or claim was lost, another caller may have run
// meanwhile, so end adds the loss to the error of the function.
func (c *Call) end(how ending, errp *error, outs []any) {
	lower, upper := c.pop(), min(how, unknown)
	if c.count > 0 {
		defer func() { c.end(upper, errp, outs) }() // even if a trace of the lower one panics
	}
	var err error
	if errp != nil {
		err = *errp
	}
	if lost := lower.end(how, err, outs); errp != nil && errors.Is(lost, interlock.ErrLost) {
		addLoss(errp, lost)
	}
	upper = how
}

func (c *Call) push(h held) {
	if c.count < len(c.few) {
		c.few[c.count] = h
	} else {
		c.more = append(c.more, h)
	}
	c.count++
}

func (c *Call) pop() held {
	c.count--
	if c.count < len(c.few) {
		return c.few[c.count]
	}
	return c.more[c.count-len(c.few)]
}

// addLoss adds the loss of a lock or claim to the error of a function.
func addLoss(errp *error, lost error) {
	if !errors.Is(*errp, interlock.ErrLost) {
		*errp = errors.Join(*errp, lost)
	}
}

// A lockHeld is the lock of a directive.
type lockHeld struct{ hold *interlock.Hold }

func (l lockHeld) end(ending, error, []any) error { return l.hold.Unlock() }

// A unitHeld is the unit that a directive has taken.
type unitHeld struct {
	unit      *interlock.QuotaUnit
	onFailure bool // a call that fails gives the unit back
}

func (u unitHeld) end(how ending, err error, _ []any) error {
	if how == notStarted || how == finished && (u.onFailure && err != nil || interlock.GivesBack(err)) {
		_ = u.unit.GiveBack(context.Background()) // if it fails, the unit counts until its window ends
	}
	return nil
}

// A claimHeld is the claim of a directive.
type claimHeld struct{ claim *guard.Claim[results] }

func (c claimHeld) end(how ending, err error, outs []any) error {
	switch {
	case how == notStarted:
		return c.claim.Free()
	case how == unknown:
		return c.claim.Abandon()
	case err != nil:
		return c.claim.Fail(err)
	}
	return c.claim.Complete(results{out: outs})
}

// returned reports whether the function that deferred our caller has returned. After
// runtime.Goexit, or a panic that recover does not see, package runtime makes the
// deferred call, not the function.
func returned() bool {
	var pc [1]uintptr
	if runtime.Callers(3, pc[:]) == 0 { // Callers, returned, done
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
