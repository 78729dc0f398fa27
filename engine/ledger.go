package engine

import (
	"context"
	"errors"
	"time"
)

// A Ledger keeps what became of work that is to happen once. What it knows of a
// key is its record; all times are the engine's.
//
// Of a record there are two entries, each with an end of its own: the lock entry,
// which is there while somebody has the claim and ends with its lease, and the
// result entry, which says that the work began, and later what became of it. A
// beginning without a lock entry is an outcome that nobody knows.
//
// As with an [Engine], all methods are safe for concurrent use, honour ctx,
// return within a bound of the engine's own, and take effect or not at all,
// unless the error matches [ErrUnknown].
type Ledger interface {
	// Claim makes one attempt to get the right to decide what becomes of a key,
	// and returns its record. Record.Granted tells whether the attempt has it.
	//
	// If the record has a fingerprint and c has another, Claim fails with
	// [ErrMismatch], whatever the state. Repeated with the same attempt while that
	// has the claim, it answers as the first time, with the same fence, and works
	// as a renewal. Once the lease has run out it is a claim like any other.
	Claim(ctx context.Context, c Claim) (Record, error)

	// Renew lets the lease of each claim begin anew, and keeps the mark of its
	// beginning for as long as Claim.Retain says from now. It returns one error
	// for each, in order: nil, [ErrNotHolder], or what went wrong on the way. A
	// renewal never shortens anything and never brings a claim back.
	Renew(ctx context.Context, cs []Claim) []error

	// Settle ends a claim and says what became of the work. Only the attempt that
	// has the claim can: the answer is Released if it did, and again, whatever it
	// says then, for as long as what it settled is kept, which stays as it is;
	// AlreadyFree if nothing is known of the key, or its lease has run out and
	// nobody has claimed the key since; and NotYours if somebody has.
	Settle(ctx context.Context, s Settlement) (Outcome, error)

	// Lookup returns the record of a key. One of which nothing is known is
	// [Absent].
	Lookup(ctx context.Context, key string) (Record, error)

	// List returns some of the records whose keys match pattern, without their
	// results, and where to go on: cursor is "" at first, and next is "" at the
	// end. A record that is there throughout is listed, maybe more than once.
	List(ctx context.Context, pattern, cursor string) (records []Record, next string, err error)

	// Watch returns a channel that receives when a claim of the key was settled or
	// undone, as [Notifier] does, until stop is called. That a lease has run out
	// it need not tell: Record.Left does.
	Watch(key string) (wake <-chan struct{}, stop func())
}

// A Claim is an attempt to get the right to decide what becomes of a key.
type Claim struct {
	Key string

	// Attempt is new for every claim.
	Attempt string

	// Fingerprint stands for what is to be done. It is stored with the claim,
	// and one key has one. Empty means that none is known: it matches all, and
	// takes nothing away from the record.
	Fingerprint string

	// Lease is how long the claim survives who made it.
	Lease time.Duration

	// Retain is how long it is kept that the work began, from the grant or the
	// last renewal. While it is, a claim that ran out leaves an [Unknown] outcome
	// behind; so it had better be longer than Lease. Zero means that nothing is
	// kept, and a claim that ran out leaves nothing.
	Retain time.Duration

	// Take grants the claim even if the outcome of the one before is unknown,
	// whose mark it replaces. It never takes a claim away from somebody whose
	// lease still runs, and changes nothing about what is Done or Failed.
	TakeOver bool

	// Retry says that this attempt may have been sent before.
	Retry bool
}

// A Settlement says what became of a claim.
type Settlement struct {
	Key     string
	Attempt string

	// Outcome is Done, Failed, Unknown, or Absent if nothing is to be kept, so
	// that the next claim is granted.
	Outcome State

	// Result is kept as it is, if the outcome is Done or Failed.
	Result []byte

	// Retain is for how long the outcome is kept, above zero unless that is
	// Absent: from now; or from when the claim was granted, however often it was
	// renewed, and then maybe not at all.
	Retain    time.Duration
	FromStart bool

	// Abandon goes with Absent, for a claim without an answer: no work was begun
	// for it. If it was granted it is undone, even if its lease has run out
	// meanwhile, and its beginning is forgotten: the answer is Released. But one
	// that took over an unknown outcome leaves that unknown, for as long as its own
	// mark would have been kept: what was begun before it may have been done. If
	// it is still on its way it is refused with [ErrAbandoned], for Lease from now
	// and with the exception in Capabilities.Patience. What was settled stays.
	Abandon bool
	Lease   time.Duration
}

// A Record is what a [Ledger] knows of a key.
type Record struct {
	Key         string
	State       State
	Granted     bool          // the claim that was asked for has it; the state is Running
	TookOver    bool          // it was granted over an unknown outcome
	Fence       uint64        // of the claim that decided or decides; it grows with every one
	Began       time.Time     // when that was granted, by the engine's clock; never zero if there is one
	Age         time.Duration // how long ago that is
	Left        time.Duration // of its lease if Running, and otherwise until the record ends
	Fingerprint string
	Result      []byte // if Done or Failed
	Local       bool   // it is this process's alone, since the engine has degraded to that
}

// A State is what is known of a key.
type State uint8

// The states of a record.
const (
	Absent  State = iota // nothing is known
	Running              // somebody has the claim
	Done                 // the work was done
	Failed               // it was not, and is not to be tried again for now
	Unknown              // it began, and nobody knows what became of it
)

// String returns the state in a word.
func (s State) String() string {
	switch s {
	case Absent:
		return "absent"
	case Running:
		return "running"
	case Done:
		return "done"
	case Failed:
		return "failed"
	case Unknown:
		return "unknown"
	}
	return "no state"
}

// ErrMismatch reports a claim whose fingerprint is not the record's.
var ErrMismatch = errors.New("engine: the key was claimed for something else")
