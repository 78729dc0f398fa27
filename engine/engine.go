// Package engine defines what a backend does for Interlock.
//
// Applications use package interlock, which holds everything that is the same
// for every backend: waiting, renewal, reentrancy, loss, clean-up and the
// in-process level. An [Engine] makes one attempt and reports what it saw. It
// never sleeps, never retries and never starts a goroutine on behalf of a lock.
//
// What every engine must do is written down as laws in package enginetest; an
// engine that passes them works with Interlock.
package engine

import (
	"context"
	"slices"
	"time"
)

// An Engine grants locks. All methods are safe for concurrent use, honour ctx,
// and return within a bound of the engine's own even if ctx has none.
//
// An error that matches [ErrUnknown] means that the call may have taken effect;
// any other error means that it has not.
type Engine interface {
	// Acquire makes one attempt to take a lock. It fails with a *[BusyError] if
	// another holder has it, or if others are to have it first; see
	// Request.QueueLease.
	//
	// Repeated with the same holder and attempt, it answers as the first time,
	// with the same fence, and the lease begins anew: a reply lost on the way
	// never makes a holder look like its own rival. A holder that comes with
	// another attempt enters once more, keeps the fence, and is counted.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew lets the lease of each request begin anew. It returns one error for
	// each, in order: nil, [ErrNotHolder], or what went wrong on the way. A
	// renewal never shortens a lease and never brings a lock back.
	Renew(ctx context.Context, rs []Request) []error

	// Release ends the hold that r's attempt began, and no other. It also gives
	// up the place in line that r's holder may have.
	Release(ctx context.Context, r Request) (ReleaseResult, error)

	// Abandon is Release for an attempt whose outcome is unknown. It also makes
	// sure, for one lease, that an Acquire of the same attempt still on its way
	// finds itself refused with [ErrAbandoned]; see Capabilities.Patience for
	// the one exception.
	Abandon(ctx context.Context, r Request) (ReleaseResult, error)

	// Capabilities tells what else the engine can do. The answer is the same
	// every time.
	Capabilities() Capabilities
}

// A Request names a lock and who asks for it.
type Request struct {
	Key  string
	Kind Kind

	// Holder is who asks, in the shape uuid:number. It is new for every
	// acquisition, unless an owner was named and may enter from many places.
	Holder string

	// Attempt tells the acquisitions of one holder apart.
	Attempt string

	// Lease is how long the lock survives its holder.
	Lease time.Duration

	// Fenced asks for fences that rise strictly, whatever happens to clocks.
	Fenced bool

	// Room is how many fences after the granted one are the holder's to give
	// away, so that those of its successors in the same process stay below the
	// next one the engine grants.
	FenceReserve uint64

	// Retry says that this attempt may have been sent before.
	Retry bool

	// QueueLease is above zero if whoever asks will ask again when refused, and is to
	// stand in line meanwhile: it is how long the place is kept for one who does
	// not come back. Its first refusal puts it at the end of the line; each one
	// after that keeps the place for as long again. A place ends with the grant,
	// and with Release or Abandon.
	//
	// When nobody has come for a place in time, by the engine's clock, it has run
	// out: others are granted the lock past it, and the first of them takes it
	// away. Who comes back before that, and within as long again, still has it. So
	// a clock that is set forward a little turns no line around. One that is set
	// back keeps no place for longer than QueueLease from when somebody next looks.
	//
	// Nobody is granted a lock past those who took their place before: a fair
	// lock, a permit or a write past anybody in line, whatever its limit; a read
	// past a writer. Only a holder that enters once more does not stand in line.
	// Exclusive locks have no line.
	QueueLease time.Duration

	// Limit is how many permits there are, or how often a latch is counted down.
	Limit int
}

// A Grant is the answer to a successful [Engine.Acquire].
type Grant struct {
	// Fence grows with every change of holder.
	Fence uint64

	// Count is how often the holder has entered, as the engine counts: 1, or
	// more for a named owner.
	Count int

	// Local says that the lock is this process's alone, since the engine has
	// degraded to that: other processes know nothing of it.
	Local bool
}

// An Outcome is what became of a hold that was to be released.
type Outcome uint8

// The three answers to a release.
const (
	Released    Outcome = iota + 1 // it was held, and ended
	AlreadyFree                    // nobody holds the lock
	NotYours                       // somebody does, but not through this attempt
)

// String returns the outcome in words.
func (o Outcome) String() string {
	switch o {
	case Released:
		return "released"
	case AlreadyFree:
		return "already-free"
	case NotYours:
		return "not-yours"
	}
	return "none"
}

// A ReleaseResult is the answer to [Engine.Release].
type ReleaseResult struct {
	Outcome Outcome

	// Count is how many holds of the same kind its holder has left, permits
	// aside. A lock that one has at a time is free once it is zero.
	Count int

	// Listeners is how many processes were told that the lock is free, this
	// one included if it listens. It is a hint.
	Listeners int
}

// Capabilities holds what an engine can do beyond granting locks. A nil field
// is something that it cannot.
type Capabilities struct {
	// Kinds are the kinds of locks there are besides Exclusive.
	Kinds []Kind

	// Notifier tells waiters when to try again. Without it they poll.
	Notifier Notifier

	// Latcher counts down latches.
	Latcher Latcher

	// Inspector lets operators look at locks and take them away.
	Inspector Inspector

	// Ledger keeps what became of work that is to happen once.
	Ledger Ledger

	// InProcess says that the ledger lives in this process and nowhere else:
	// asking it costs no more than caching its answers. It copies the results
	// it is given. An engine that wraps another one and adds a delay or a way
	// to fail clears it.
	InProcess bool

	// Eraser lets operators make the ledger forget.
	Eraser Eraser

	// Fencer, Incarnations and Notes are what an engine must have to be one of
	// several that are made one.
	Fencer       Fencer
	Incarnations Incarnations
	Notes        Notes

	// Prober tells how the engine is.
	Prober Prober

	// Patience is how long after it was sent a first Acquire or Claim may still
	// be granted although its attempt was abandoned meanwhile. Who gives up
	// earlier abandons again when it is over. It is zero for an engine that
	// never grants an abandoned attempt.
	LateGrant time.Duration

	// LongestLease is the longest lease that the engine grants, of locks and of
	// claims. Zero means that it grants any.
	LongestLease time.Duration

	// Shard tells which of its parts an engine keeps a key in, so that one that
	// is down does not hold up renewals in another. Nil means one part.
	Shard func(key string) int
}

// Has tells whether the engine has locks of kind k.
func (c Capabilities) Has(k Kind) bool {
	return k == Exclusive || slices.Contains(c.Kinds, k)
}

// A Notifier tells when a lock may have become free.
type Notifier interface {
	// Notify returns a channel that receives when r, as it is, may be granted,
	// until stop is called: after each release, and each time the engine begins
	// to listen, since it may have missed one before. Of those who stand in line
	// only who comes next has to be told. For a [Latch] it receives when the
	// latch has opened. Notifications may be spurious, merged or missing.
	// Neither Notify nor stop waits for anything.
	Notify(r Request) (wake <-chan struct{}, stop func())
}

// A Latcher counts down latches: each opens when it has been counted down as
// often as Request.Limit said when it was first heard of.
type Latcher interface {
	// CountDown counts r's attempt, once however often it is sent, and returns
	// how many are missing. Without an attempt it only looks. A latch nobody has
	// heard of comes into being closed, with r's limit. It is forgotten a lease
	// after the last call that counted or looked.
	CountDown(ctx context.Context, r Request) (left int, err error)
}
