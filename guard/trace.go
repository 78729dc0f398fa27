package guard

import (
	"cmp"
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/trace"
)

// A Trace observes a guard. Nil functions are skipped. Renewed and Lost are called one
// after another in a goroutine of the guard, so that a slow function delays no renewal.
// The other functions run in the goroutine of the event, so they must be fast. Panics are
// recovered, and the first of each function is logged to the default logger of log/slog.
// Keys are hashed, as the engine stores them.
type Trace struct {
	Checked func(Checked) // a call got its verdict

	// Executing is called before the work of a claim runs. The work's context is the one
	// that it returns. It also returns an id of this execution, of at most 255 bytes and
	// possibly empty. The record keeps it with the result, and duplicates find it in
	// Checked.Origin.
	Executing func(Executing) (context.Context, string)

	Settled func(Settled) // a claim ended
	Renewed func(Renewed) // a claim was renewed, or a renewal failed
	Lost    func(Lost)    // a claim was lost while the work ran
	Cleaned func(Cleaned) // a claim whose reply was lost was undone
}

// A Verdict is the answer to a call.
type Verdict string

// The verdicts.
const (
	Granted       Verdict = "granted"   // the call may do the work
	Replayed      Verdict = "replayed"  // the call got an earlier result
	Refused       Verdict = "refused"   // a duplicate of work that runs or was done
	Mismatch      Verdict = "mismatch"  // the key was used with another payload
	UnknownBefore Verdict = "unknown"   // the outcome of an earlier call is unknown
	FailedBefore  Verdict = "failed"    // the call got an earlier error
	NoResult      Verdict = "no-result" // the work was done, and its result is not available
	Unguarded     Verdict = "unguarded" // the engine is down, and the work runs without a claim
	Down          Verdict = "down"      // the engine is down or refused the request, and nothing runs
	GaveUp        Verdict = "gave-up"   // the context ended, the guard was closed, or the key is invalid
)

// Checked is reported for every call when its verdict is known.
type Checked struct {
	Context   context.Context // of the caller
	Guard     string
	Key       string
	Verdict   Verdict
	Fence     uint64        // the fence of the claim; zero unless granted
	Left      time.Duration // time until a repeat is accepted; zero if unknown
	Waited    time.Duration
	Coalesced bool   // answered in this process, without asking the engine
	Local     bool   // granted by this process alone
	Origin    string // the id of the execution whose outcome the call got; see Trace.Executing
	Err       error  // the caller's error, or why the work runs unguarded
}

// Executing is passed to Trace.Executing when a claim was granted.
type Executing struct {
	Context context.Context // of the caller
	Guard   string
	Key     string
	Fence   uint64
}

// An Ending is how a claim ended.
type Ending string

// The endings.
const (
	Completed   Ending = "completed"   // the work was done
	Tombstoned  Ending = "tombstoned"  // the work was done, but its result could not be stored
	KeptError   Ending = "kept-error"  // the work failed, and its error is stored
	Freed       Ending = "freed"       // the next call runs
	LeftUnknown Ending = "unknown"     // the outcome is unknown
	Late        Ending = "late"        // the claim was lost before, so the outcome is not stored
	NotStored   Ending = "not-stored"  // the engine did not answer
	StoredLate  Ending = "stored-late" // the engine stored the outcome after the caller got its answer
)

// Settled is reported when a claim ended.
type Settled struct {
	Context context.Context // of the work
	Guard   string
	Key     string
	Ending  Ending
	Fence   uint64
	Took    time.Duration // time since the claim was granted
	Err     error         // why the result is not stored
}

// Renewed is reported after each renewal of a claim.
type Renewed struct {
	Guard string
	Key   string
	Err   error // why it failed; it is retried until the lease expires
}

// Lost is reported when a claim was lost while the work ran.
type Lost struct {
	Context context.Context // of the work
	Guard   string
	Key     string
	Fence   uint64
	Took    time.Duration // time since the claim was granted
	Err     error         // the reason, as in interlock.LostError
}

// Cleaned is reported when a claim whose reply was lost was undone.
type Cleaned struct {
	Guard string
	Key   string
	Found bool  // the engine had granted it
	Err   error // why the claim could not be undone; it will expire
}

// and returns a trace that calls t and then u, and recovers the panics of u. Either may be
// nil. Panics of t are recovered already, because and made t.
func (t *Trace) and(u *Trace) *Trace {
	switch {
	case u == nil:
		return t
	case t == nil:
		t = new(Trace)
	}
	return &Trace{
		Checked:   trace.Both(t.Checked, u.Checked),
		Executing: bothExecuting(t.Executing, u.Executing),
		Settled:   trace.Both(t.Settled, u.Settled),
		Renewed:   trace.Both(t.Renewed, u.Renewed),
		Lost:      trace.Both(t.Lost, u.Lost),
		Cleaned:   trace.Both(t.Cleaned, u.Cleaned),
	}
}

// bothExecuting returns a function that calls f, and then g with the context that f
// returned. The id of the execution is the first that is not empty. If g panics or
// returns no context, the context is the one that f returned.
func bothExecuting(f, g func(Executing) (context.Context, string)) func(Executing) (context.Context, string) {
	if g == nil {
		return f
	}
	var panics trace.Panics
	return func(e Executing) (ctx context.Context, id string) {
		if f != nil {
			e.Context, id = f(e)
		}
		defer func() { // after Recover
			if ctx == nil {
				ctx = e.Context
			}
		}()
		defer panics.Recover()
		inner, second := g(e)
		return inner, cmp.Or(id, second)
	}
}
