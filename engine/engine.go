// Package engine defines the contract of a backend.
//
// Applications use package interlock, which implements what is the same for every
// backend: waiting, renewal, reentrancy, loss, clean-up and the in-process queue.
// An [Engine] makes one attempt and reports the result. It never sleeps, never
// retries and never starts a goroutine on behalf of a lock.
//
// Package enginetest holds the laws that every engine must obey. An engine that
// passes them works with Interlock.
package engine

import (
	"context"
	"errors"
	"slices"
	"time"
)

// An Engine grants locks. All methods are safe for concurrent use, honour ctx,
// and return within the engine's own timeout even if ctx has no deadline.
//
// An error that matches [ErrUnknown] means that the call may have taken effect.
// Any other error means that it has not.
type Engine interface {
	// Acquire makes one attempt to acquire a lock. It fails with a *[BusyError]
	// if another holder has the lock, or if other waiters come first; see
	// Request.QueueLease.
	//
	// A repeated request with the same holder and attempt gets the same answer
	// and fence, and restarts the lease. So a holder whose reply was lost is not
	// refused because of its own lock. The same holder with another attempt enters
	// once more: it keeps the fence, and the entry is counted.
	Acquire(ctx context.Context, r Request) (Grant, error)

	// Renew restarts the lease of each request. It returns one error for each,
	// in order: nil, [ErrNotHolder], or the failure of the call. A renewal never
	// shortens a lease and never restores a lock.
	Renew(ctx context.Context, rs []Request) []error

	// Release ends the hold of r's attempt, and no other. It also gives up the
	// queue position of r's holder.
	Release(ctx context.Context, r Request) (ReleaseResult, error)

	// Abandon is Release for an attempt whose outcome is unknown. It leaves a
	// tombstone for one lease: an Acquire of the same attempt that arrives later
	// fails with [ErrAbandoned]. Capabilities.LateGrant describes the one exception.
	Abandon(ctx context.Context, r Request) (ReleaseResult, error)

	// Capabilities returns what else the engine can do. It never changes.
	Capabilities() Capabilities
}

// A Request names a lock and the holder that asks for it.
type Request struct {
	Key  string
	Kind Kind

	// Holder is the holder id, in the form uuid:number. It is new for every
	// acquisition, unless the caller names an owner that may enter repeatedly.
	Holder string

	// Attempt distinguishes the acquisitions of one holder.
	Attempt string

	// Lease is how long the lock survives its holder.
	Lease time.Duration

	// Fenced requests fences that rise strictly, even if the engine's clock is set back.
	Fenced bool

	// FenceReserve is how many fences after the granted one are reserved for
	// handovers within the holder's process. The next fence that the engine
	// grants is higher than all of them.
	FenceReserve uint64

	// Retry means that this attempt may have been sent before.
	Retry bool

	// QueueLease is above zero if the caller wants to wait in the queue when it
	// is refused, and will ask again. It is how long the engine keeps the
	// caller's position between two requests. The first refusal puts the caller
	// at the end of the queue; each later refusal extends the reservation by
	// QueueLease. The position ends with the grant, and with Release or Abandon.
	//
	// A position expires QueueLease after its last request, by the engine's clock.
	// Then later callers may get the lock first. The expired position is removed when
	// one of them does, or after another QueueLease. A caller that asks again before
	// that keeps its position, so a small step of the clock forward does not reorder
	// the queue. After a step back, no position lasts longer than QueueLease from the
	// next request on.
	//
	// No caller overtakes earlier positions. A fair lock, a permit or a write lock
	// waits for every earlier position; a read lock waits only for earlier writers.
	// Only a holder that enters again skips the queue. Exclusive locks have no
	// queue.
	QueueLease time.Duration

	// Limit is the number of permits, or the number of counts that open a latch.
	Limit int
}

// A Grant is the answer to a successful [Engine.Acquire].
type Grant struct {
	// Fence grows with every change of holder.
	Fence uint64

	// Count is the holder's number of entries: 1, or more for a named owner.
	Count int

	// Local means that the lock is valid in this process only, because the
	// engine has degraded. Other processes may hold it as well.
	Local bool
}

// An Outcome is the result of a release.
type Outcome uint8

// The three answers to a release.
const (
	Released    Outcome = iota + 1 // the hold ended
	AlreadyFree                    // the lock was free
	NotYours                       // another attempt holds the lock
)

// String returns the outcome in kebab-case.
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

	// Count is how many entries of the same kind the holder still has. For a permit
	// it is zero. An exclusive lock is free when Count is zero.
	Count int

	// Listeners is how many processes were notified, including this one if it
	// listens. It is a hint.
	Listeners int
}

// Capabilities lists what an engine can do beyond exclusive locks. A nil field is
// a missing capability.
type Capabilities struct {
	// Kinds are the supported kinds of locks besides Exclusive.
	Kinds []Kind

	// Notifier tells waiters when to retry. Without it they poll.
	Notifier Notifier

	// Latcher counts down latches.
	Latcher Latcher

	// Inspector lets operators list, inspect and release locks.
	Inspector Inspector

	// Ledger stores the records of guards.
	Ledger Ledger

	// InProcess means that the ledger is in the memory of this process, so asking
	// it costs no more than caching its answers. Such a ledger copies the results
	// that callers pass. An engine that wraps another one and adds a delay or a
	// way to fail sets InProcess to false.
	InProcess bool

	// Eraser lets operators delete records.
	Eraser Eraser

	// Quotas counts executions.
	Quotas Quotas

	// Fencer, Incarnations and Notes are needed by engines made of several
	// engines, such as a quorum.
	Fencer       Fencer
	Incarnations Incarnations
	Notes        Notes

	// Prober reports the health of the engine.
	Prober Prober

	// LateGrant is the time, from the first Acquire or Claim of an attempt, during
	// which the engine may grant it although the attempt was abandoned. A caller
	// that abandons within that time must abandon again when LateGrant has passed.
	// Zero means that the engine never grants an abandoned attempt.
	LateGrant time.Duration

	// LongestLease is the longest lease that the engine grants, for locks and
	// claims. Zero means no limit.
	LongestLease time.Duration

	// Shard returns the part of the engine that keeps a key, so that a part that
	// is down does not delay renewals in another. Nil means one part.
	Shard func(key string) int

	// Node names the server that keeps a key, as far as the engine knows, so that
	// an outage of one server does not affect the keys of another. It does not
	// block. Nil or an empty name means that all keys share a server.
	Node func(key string) string

	// Observe calls f after each request to a server, until stop is called. f runs
	// in the goroutine of the request, so it must be quick. Nil means that the engine
	// has no servers.
	Observe func(f func(ServerCall)) (stop func())
}

// A ServerCall is one request to a server of the engine.
type ServerCall struct {
	Operation string // such as the name of a script
	Node      string // the server; empty if the engine has only one
	Took      time.Duration
	Err       error // why there was no valid answer; a refused lock is an answer
}

// Problems are the words for the errors of a [ServerCall].
var Problems = [...]string{"unavailable", "timeout", "overloaded", "full", "refused", "other"}

// Problem returns the word for the error: one of [Problems], or "" if there is none or if
// the caller gave up. For "unavailable" and "timeout", the server did not answer.
func (c ServerCall) Problem() string {
	var late interface{ Timeout() bool }
	switch err := c.Err; {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, ErrOverloaded):
		return "overloaded"
	case errors.Is(err, ErrFull):
		return "full"
	case errors.Is(err, ErrKind):
		return "refused"
	case errors.As(err, &late) && late.Timeout(): // such as context.DeadlineExceeded
		return "timeout"
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrUnknown):
		return "unavailable"
	}
	return "other"
}

// Has reports whether the engine supports locks of kind k.
func (c Capabilities) Has(k Kind) bool {
	return k == Exclusive || slices.Contains(c.Kinds, k)
}

// A Notifier wakes waiters when a lock may have become free.
type Notifier interface {
	// Notify returns a channel that receives when r may be granted: after each
	// release, and each time the engine begins to listen, because it may have missed
	// a release before. Calling stop ends the subscription. In a queue only the next waiter must
	// be notified. For a [Latch] it receives when the latch opens. Notifications
	// may be spurious, merged or missing. Neither Notify nor stop blocks.
	Notify(r Request) (wake <-chan struct{}, stop func())
}

// A Latcher counts down latches. A latch opens after as many counts as
// Request.Limit said on its first use.
type Latcher interface {
	// CountDown counts r's attempt once, however often it is sent, and returns
	// how many counts are left. If r has no attempt, it counts nothing. The first call
	// creates the latch with r's limit. A latch expires one lease after the last
	// call.
	CountDown(ctx context.Context, r Request) (left int, err error)
}
