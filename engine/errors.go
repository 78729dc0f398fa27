package engine

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotHolder reports a renewal by someone who does not hold the lock, or
	// does not have the claim.
	ErrNotHolder = errors.New("engine: not the holder")

	// ErrUnknown reports a call that may have taken effect: it was sent, and no
	// answer came back.
	ErrUnknown = errors.New("engine: outcome unknown")

	// ErrUnavailable reports a call that did not take effect because the engine
	// cannot be reached or does not serve for now. It is worth trying again.
	ErrUnavailable = errors.New("engine: unavailable")

	// ErrFull reports that the engine has no room for another lock or
	// record.
	ErrFull = errors.New("engine: full")

	// ErrOverloaded reports that the engine takes no more connections, or that
	// none came free in time.
	ErrOverloaded = errors.New("engine: overloaded")

	// ErrKind reports that a key holds something else than a lock of the kind
	// that was asked for.
	ErrKind = errors.New("engine: another kind of thing is at this key")

	// ErrUpgrade reports a request to write by a holder that reads: it would
	// wait for itself.
	ErrUpgrade = errors.New("engine: a reader cannot come to write")

	// ErrRevoked reports a renewal of a lock that an operator took away. It is a
	// case of ErrNotHolder.
	ErrRevoked = fmt.Errorf("engine: revoked by an operator: %w", ErrNotHolder)

	// ErrSwitched reports a renewal of something that was granted by an engine that
	// an operator has switched away from. It is a case of ErrNotHolder.
	ErrSwitched = fmt.Errorf("engine: switched to another engine: %w", ErrNotHolder)

	// ErrAbandoned reports an Acquire or a Claim whose attempt was abandoned
	// before it arrived.
	ErrAbandoned = errors.New("engine: attempt was abandoned")

	// ErrClosed reports the use of an engine after it was closed.
	ErrClosed = errors.New("engine: closed")
)

// Temporary reports whether asking again may help after err.
func Temporary(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOverloaded)
}

// A BusyError reports that a lock is held by somebody else, or to be granted to
// somebody else first.
type BusyError struct {
	Holder string        // who has it, or one of them; if it is free, who comes first
	Left   time.Duration // what remains of its lease, or of its place; zero if unknown
	Ahead  int           // how many stand in line before whoever asked, maybe with places that have run out
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("engine: held by %s for another %v", e.Holder, e.Left)
}
