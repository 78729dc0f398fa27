package interlock

import (
	"time"

	"github.com/interlock-go/interlock/internal/trace"
)

// A Trace is told what happens to locks. Nil functions are skipped. They are
// called in the goroutine where it happens, so they must be quick and must not
// take locks of the same client.
//
// It is a struct of functions so that one more does not break anybody.
type Trace struct {
	Waiting       func(Waiting)       // a lock is held by somebody else, and waiting begins
	Acquired      func(Acquired)      // a lock was taken
	Contended     func(Contended)     // a lock was not to be had
	Failed        func(Failed)        // the engine could not be asked
	Renewed       func(Renewed)       // a lease was renewed, or could not be for now
	Released      func(Released)      // a lock was given up, here or to the next in line
	ReleaseFailed func(ReleaseFailed) // a lock could not be given up, and will run out
	Lost          func(Lost)          // a lock ceased to be held before it was given up
	CleanedUp     func(CleanedUp)     // what a lost reply may have left behind was taken away
	Warned        func(Warned)        // something is allowed, but unlikely to be meant
}

// Waiting is reported when a lock is held by somebody else and waiting begins.
type Waiting struct {
	Key    string
	Kind   Kind
	Holder string        // who has it
	Ahead  int           // how many stand in line before, as far as the kind has a line
	Left   time.Duration // what remains of its lease, as far as known
}

// Acquired is reported when a lock was taken.
type Acquired struct {
	Key        string
	Kind       Kind
	Holder     string
	Fence      uint64
	Lease      time.Duration
	Waited     time.Duration
	Tries      int  // how often the engine was asked; 0 if it did not have to be
	HandedOver bool // it came from another holder in this process
	Local      bool // it is this process's alone, since the engine has degraded to that
}

// Contended is reported when a lock was not to be had.
type Contended struct {
	Key    string
	Kind   Kind
	Holder string        // who has it, as far as known
	Ahead  int           // how many stood in line before, as far as the kind has a line
	Left   time.Duration // what remains of its lease, as far as known
	Waited time.Duration
	Err    error // why waiting ended; nil after one attempt
}

// Failed is reported when the engine could not be asked.
type Failed struct {
	Key    string
	Waited time.Duration
	Err    error
}

// Renewed is reported when a lease was renewed, or could not be for now.
type Renewed struct {
	Key    string
	Holder string
	Err    error // what went wrong; it is tried again until the lease is over
}

// Released is reported when a lock was given up.
type Released struct {
	Key        string
	Kind       Kind
	Holder     string
	Fence      uint64
	Held       time.Duration
	HandedOver bool // it went to another holder in this process
}

// ReleaseFailed is reported when a lock could not be given up. It runs out by
// itself.
type ReleaseFailed struct {
	Key    string
	Holder string
	Held   time.Duration
	Err    error
}

// Lost is reported when a lock ceased to be held before it was given up.
type Lost struct {
	Key    string
	Kind   Kind
	Holder string
	Fence  uint64
	Held   time.Duration
	Err    error // see [LostError]
}

// CleanedUp is reported after an acquisition without an answer was undone.
type CleanedUp struct {
	Key    string
	Holder string
	Found  bool  // it had been granted
	Err    error // it could not be undone, and will run out
}

// Warned is reported once for each name of a key: for something that is
// allowed, but unlikely to be meant.
type Warned struct {
	Key     string
	Problem string
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
		Waiting:       trace.Both(t.Waiting, u.Waiting),
		Acquired:      trace.Both(t.Acquired, u.Acquired),
		Contended:     trace.Both(t.Contended, u.Contended),
		Failed:        trace.Both(t.Failed, u.Failed),
		Renewed:       trace.Both(t.Renewed, u.Renewed),
		Released:      trace.Both(t.Released, u.Released),
		ReleaseFailed: trace.Both(t.ReleaseFailed, u.ReleaseFailed),
		Lost:          trace.Both(t.Lost, u.Lost),
		CleanedUp:     trace.Both(t.CleanedUp, u.CleanedUp),
		Warned:        trace.Both(t.Warned, u.Warned),
	}
}
