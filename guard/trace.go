package guard

import (
	"time"

	"github.com/interlock-go/interlock/internal/trace"
)

// A Trace is told what a guard does. Nil functions are skipped. They are called
// in the goroutine where it happens, so they must be quick. Keys are as the engine
// knows them: hashed.
type Trace struct {
	Checked func(Checked) // a call came, and this is what it met
	Settled func(Settled) // a claim came to its end
	Renewed func(Renewed) // a claim was renewed, or could not be for now
	Lost    func(Lost)    // a claim was lost while the work ran
	Cleaned func(Cleaned) // what a lost reply may have left behind was taken away
}

// A Verdict is what a call met.
type Verdict string

// The verdicts.
const (
	Granted       Verdict = "granted"   // it may do the work
	Replayed      Verdict = "replayed"  // it got the result of an earlier one
	Refused       Verdict = "refused"   // a duplicate, of work that runs or was done
	Mismatch      Verdict = "mismatch"  // the key was used for something else
	UnknownBefore Verdict = "unknown"   // nobody knows what became of an earlier one
	FailedBefore  Verdict = "failed"    // it got the error of an earlier one
	NoResult      Verdict = "no-result" // the work was done, and its result cannot be had
	Unguarded     Verdict = "unguarded" // the engine is down, and the work runs all the same
	Down          Verdict = "down"      // the engine could not be asked, or would not, and nothing runs
	GaveUp        Verdict = "gave-up"   // its context ended, the guard was closed, or its key cannot be meant
)

// Checked is reported for every call, when it is known what becomes of it.
type Checked struct {
	Guard     string
	Key       string
	Verdict   Verdict
	Fence     uint64        // if granted
	Left      time.Duration // as far as known: of the lease or the record it met
	Waited    time.Duration
	Coalesced bool  // it was answered in this process, without asking the engine
	Local     bool  // it was granted by this process alone, and others do not know
	Err       error // what the caller was told, or why it runs unguarded
}

// An Ending is how a claim came to its end.
type Ending string

// The endings.
const (
	Completed  Ending = "completed"   // with its result, or none if none is kept
	Tombstoned Ending = "tombstoned"  // completed, but the result could not be kept
	KeptError  Ending = "kept-error"  // it failed, and its error is kept
	Freed      Ending = "freed"       // the next call runs
	LeftOpen   Ending = "unknown"     // nobody knows what became of it
	Late       Ending = "late"        // the claim had been lost, and what became of the work is not written down
	NotStored  Ending = "not-stored"  // the engine could not be told
	StoredLate Ending = "stored-late" // the engine could be told in the end, after the caller was answered
)

// Settled is reported when a claim came to its end.
type Settled struct {
	Guard  string
	Key    string
	Ending Ending
	Fence  uint64
	Took   time.Duration // since it was granted
	Err    error         // why the result could not be kept, or the engine not be told
}

// Renewed is reported when a claim was renewed, or could not be for now.
type Renewed struct {
	Guard string
	Key   string
	Err   error // what went wrong; it is tried again until the lease is over
}

// Lost is reported when a claim was lost while the work ran.
type Lost struct {
	Guard string
	Key   string
	Fence uint64
	Took  time.Duration // since it was granted
	Err   error         // why, as in interlock.LostError
}

// Cleaned is reported after a claim without an answer was undone.
type Cleaned struct {
	Guard string
	Key   string
	Found bool  // it had been granted
	Err   error // it could not be undone, and will run out
}

// and returns a trace that tells both t and u. Either may be nil.
func (t *Trace) and(u *Trace) *Trace {
	switch {
	case t == nil:
		return u
	case u == nil:
		return t
	}
	return &Trace{
		Checked: trace.Both(t.Checked, u.Checked),
		Settled: trace.Both(t.Settled, u.Settled),
		Renewed: trace.Both(t.Renewed, u.Renewed),
		Lost:    trace.Both(t.Lost, u.Lost),
		Cleaned: trace.Both(t.Cleaned, u.Cleaned),
	}
}
