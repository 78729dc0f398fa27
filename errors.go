package interlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var (
	// ErrContended means that another holder has the lock, or that other waiters
	// come first. Errors that match it are a *[ContendedError].
	ErrContended = errors.New("interlock: lock is held")

	// ErrLost means that a lock was lost before its release. Errors that match
	// it are a *[LostError].
	ErrLost = errors.New("interlock: lock lost")

	// ErrReleased is the cause of a context whose lock was released.
	ErrReleased = errors.New("interlock: lock released")

	// ErrRevoked is the reason of a loss: an operator released the lock by force.
	ErrRevoked = errors.New("interlock: revoked by an operator")

	// ErrMaxHold is the reason of a loss: the lock was held longer than [MaxHold].
	ErrMaxHold = errors.New("interlock: held longer than MaxHold allows")

	// ErrExpired is the reason of a loss: the lease expired, because a renewal
	// failed or because [Lease] turns renewal off.
	ErrExpired = errors.New("interlock: lease expired")

	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("interlock: client is closed")

	// ErrNotOpen means that a latch did not open in time.
	ErrNotOpen = errors.New("interlock: latch is not open")

	// ErrKey means that a key cannot name a lock.
	ErrKey = errors.New("interlock: bad key")

	// ErrOption means that an option has an invalid value.
	ErrOption = errors.New("interlock: bad option")
)

// Errors of engines.
var (
	// ErrUnavailable means that all retries failed: the engine could not be reached,
	// or refused to serve. The call had no effect.
	ErrUnavailable = engine.ErrUnavailable

	// ErrOutcomeUnknown means that the engine was asked and did not answer. The
	// client cleans up a lock that may have been granted. The error also matches
	// ErrUnavailable if the last retry failed with it.
	ErrOutcomeUnknown = engine.ErrUnknown

	// ErrFull means that the engine has no capacity for another lock.
	ErrFull = engine.ErrFull

	// ErrOverloaded means that the engine accepts no more connections.
	ErrOverloaded = engine.ErrOverloaded

	// ErrKind means that the key holds another kind of lock, or no lock at all.
	ErrKind = engine.ErrKind

	// ErrUpgrade means that a reader asked for the write lock and would wait for
	// itself. Release the read lock first, or acquire the write lock instead.
	ErrUpgrade = engine.ErrUpgrade

	// ErrNotHolder is the reason of a loss: the engine no longer knows the hold,
	// or another holder has the lock.
	ErrNotHolder = engine.ErrNotHolder

	// ErrSwitched is the reason of a loss: an operator switched to another
	// engine; see package standby. It matches ErrNotHolder, too.
	ErrSwitched = engine.ErrSwitched
)

// A ContendedError names the holder of a lock and says when to retry.
type ContendedError struct {
	Key        string
	Holder     string        // the id of the holder, or of the first waiter if the lock is free; Error shows a hash of it
	Self       bool          // the caller's own context holds it
	RetryAfter time.Duration // time until the holder's lease expires, unless it is renewed
	Ahead      int           // waiters before the caller, if the kind has a queue
	Err        error         // why the wait ended; nil after one attempt
}

// Error implements error.
func (e *ContendedError) Error() string {
	if e.Self {
		return fmt.Sprintf("interlock: %q is held by this context; use Reentrant to enter it again, or WithoutHolds to wait for it", e.Key)
	}
	s := fmt.Sprintf("interlock: %q is held", e.Key)
	switch {
	case e.Ahead > 0: // the lock itself may be free
		s += " or has earlier waiters, first " + engine.ShortHolder(e.Holder)
	case e.Holder != "":
		s += " by " + engine.ShortHolder(e.Holder)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every ContendedError match [ErrContended].
func (e *ContendedError) Is(target error) bool { return target == ErrContended }

// Unwrap returns why the wait ended.
func (e *ContendedError) Unwrap() error { return e.Err }

// A LostError says which lock was lost, and why.
type LostError struct {
	Key   string
	Fence uint64 // the fence of the lost hold
	Err   error  // [ErrExpired], [ErrNotHolder], [ErrSwitched], [ErrMaxHold], [ErrRevoked] or [ErrClosed]
}

// Error implements error.
func (e *LostError) Error() string { return fmt.Sprintf("interlock: lost %q: %v", e.Key, e.Err) }

// Is makes every LostError match [ErrLost].
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns the reason of the loss.
func (e *LostError) Unwrap() error { return e.Err }

// errWaited is the cause of a context that ended because the time set by Wait passed.
var errWaited = errors.New("waited as long as Wait allows")

// unanswered returns the error of a caller that gave up before any answer. It
// matches ErrUnavailable if the time of Wait ran out, not the caller's context.
func unanswered(key string, cause error) error {
	if cause == errWaited { //nolint:errorlint // identity: this package set it
		cause = fmt.Errorf("%w: %w", cause, ErrUnavailable)
	}
	return fmt.Errorf("interlock: acquire %q: gave up before the engine answered: %w", key, cause)
}
