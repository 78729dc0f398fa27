package interlock

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var (
	// ErrContended means that somebody else holds the lock. Errors that match
	// it are a *[ContendedError].
	ErrContended = errors.New("interlock: lock is held")

	// ErrLost means that a lock ceased to be held before it was given up.
	// Errors that match it are a *[LostError].
	ErrLost = errors.New("interlock: lock lost")

	// ErrReleased is the cause of a context whose lock was given up.
	ErrReleased = errors.New("interlock: lock released")

	// ErrRevoked is why a lock was lost that an operator took away.
	ErrRevoked = errors.New("interlock: revoked by an operator")

	// ErrMaxHold is why a lock was lost that was held longer than [MaxHold].
	ErrMaxHold = errors.New("interlock: held for as long as MaxHold allows")

	// ErrExpired is why a lock was lost whose lease could not be renewed in
	// time, or was not to be.
	ErrExpired = errors.New("interlock: lease ran out")

	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("interlock: client is closed")

	// ErrNotOpen means that a latch did not open in time.
	ErrNotOpen = errors.New("interlock: latch is not open")

	// ErrKey means that a key cannot name a lock.
	ErrKey = errors.New("interlock: bad key")

	// ErrOption means that an option has a value that cannot be meant.
	ErrOption = errors.New("interlock: bad option")
)

// What goes wrong in an engine, and is passed on with its cause.
var (
	// ErrUnavailable means that the engine could not be reached, or did not
	// serve, for as long as it was worth trying. Nothing happened.
	ErrUnavailable = engine.ErrUnavailable

	// ErrOutcomeUnknown means that the engine was asked and did not answer.
	// Whatever it may have granted is being given back. An error that matches
	// it may also match ErrUnavailable, if that is how asking again ended.
	ErrOutcomeUnknown = engine.ErrUnknown

	// ErrFull means that the engine has no room for another lock.
	ErrFull = engine.ErrFull

	// ErrOverloaded means that the engine takes no more connections.
	ErrOverloaded = engine.ErrOverloaded

	// ErrKind means that another kind of thing is stored under the key.
	ErrKind = engine.ErrKind

	// ErrUpgrade means that who reads asked to write, and would have waited for
	// itself. Give up reading first, or write from the start.
	ErrUpgrade = engine.ErrUpgrade

	// ErrNotHolder is why a lock was lost that the engine no longer knows, or
	// knows to be somebody else's.
	ErrNotHolder = engine.ErrNotHolder

	// ErrSwitched is why a lock was lost when an operator switched to another
	// engine; see package standby. It is a case of ErrNotHolder.
	ErrSwitched = engine.ErrSwitched
)

// A ContendedError says who holds a lock, and when to come back.
type ContendedError struct {
	Key        string
	Holder     string        // who has the lock, as the engine calls it
	Self       bool          // the context passed in holds it already
	RetryAfter time.Duration // until the holder's lease runs out, unless renewed
	Ahead      int           // how many stood in line before, as far as the kind has a line
	Err        error         // why waiting ended; nil after one attempt
}

// Error implements error.
func (e *ContendedError) Error() string {
	if e.Self {
		return fmt.Sprintf("interlock: %q is held by this very context; use Reentrant to enter again, or WithoutHolds to stand in line", e.Key)
	}
	s := fmt.Sprintf("interlock: %q is held", e.Key)
	if e.Holder != "" {
		s += " by " + e.Holder
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every ContendedError match [ErrContended].
func (e *ContendedError) Is(target error) bool { return target == ErrContended }

// Unwrap returns why waiting ended.
func (e *ContendedError) Unwrap() error { return e.Err }

// A LostError says which lock was lost, and how that was noticed.
type LostError struct {
	Key   string
	Fence uint64 // the fence it had: a store that checks fences refuses it by now
	Err   error  // [ErrExpired], [ErrNotHolder], [ErrSwitched], [ErrMaxHold], [ErrRevoked] or [ErrClosed]
}

// Error implements error.
func (e *LostError) Error() string { return fmt.Sprintf("interlock: lost %q: %v", e.Key, e.Err) }

// Is makes every LostError match [ErrLost].
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns how the loss was noticed.
func (e *LostError) Unwrap() error { return e.Err }

// Why waiting ended when it was not the context that said so.
var errWaited = errors.New("waited for as long as Wait allows")

// unanswered says that nobody knows who has the lock. If it is our own limit that
// has come, and not the caller's, it is the engine that has not served.
func unanswered(key string, cause error) error {
	if cause == errWaited { //nolint:errorlint // ours
		cause = fmt.Errorf("%w: %w", cause, ErrUnavailable)
	}
	return fmt.Errorf("interlock: acquiring %q: gave up before there was an answer: %w", key, cause)
}

// short returns a holder as logs show it: 8 hex digits that tell holders apart
// without letting a reader of the log pass for one.
func short(holder string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(holder)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}
