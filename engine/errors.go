package engine

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotHolder reports a renewal of a lock or claim that the caller does not
	// hold.
	ErrNotHolder = errors.New("engine: not the holder")

	// ErrUnknown reports a call that may have taken effect: it was sent, and not
	// answered.
	ErrUnknown = errors.New("engine: outcome unknown")

	// ErrUnavailable reports a call that did not take effect, because the engine
	// cannot be reached or does not serve now. A retry may help.
	ErrUnavailable = errors.New("engine: unavailable")

	// ErrFull reports that the engine has no capacity for another lock or
	// record.
	ErrFull = errors.New("engine: full")

	// ErrOverloaded reports that the engine accepts no more connections, or that
	// no connection became free in time.
	ErrOverloaded = errors.New("engine: overloaded")

	// ErrKind reports that a key holds something other than a lock of the
	// requested kind.
	ErrKind = errors.New("engine: the key holds another kind of lock or value")

	// ErrUpgrade reports a write request by a holder that reads: it would wait
	// for itself.
	ErrUpgrade = errors.New("engine: a reader cannot acquire the write lock")

	// ErrRevoked reports a renewal of a lock that an operator released by force.
	// It matches ErrNotHolder, too.
	ErrRevoked = fmt.Errorf("engine: revoked by an operator: %w", ErrNotHolder)

	// ErrSwitched reports a renewal of a lock or claim that another engine granted:
	// an operator has switched engines since. It matches ErrNotHolder, too.
	ErrSwitched = fmt.Errorf("engine: switched to another engine: %w", ErrNotHolder)

	// ErrAbandoned reports an Acquire or a Claim that arrived after its attempt was
	// abandoned.
	ErrAbandoned = errors.New("engine: attempt was abandoned")

	// ErrClosed reports the use of an engine after it was closed.
	ErrClosed = errors.New("engine: closed")
)

// Temporary reports whether a retry may help after err.
func Temporary(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOverloaded)
}

// A BusyError reports that another holder has the lock, or that other waiters
// come first.
type BusyError struct {
	Holder string        // one of the holders; if the lock is free, the first waiter
	Left   time.Duration // time until its lease or queue position expires; zero if unknown
	Ahead  int           // waiters before the caller; some positions may have expired
}

// Error implements error.
func (e *BusyError) Error() string {
	s := "engine: held by " + ShortHolder(e.Holder)
	if e.Ahead > 0 { // then the lock may be free
		s = fmt.Sprintf("engine: %s holds the lock or waits for it before this caller", ShortHolder(e.Holder))
	}
	if e.Left > 0 {
		s += fmt.Sprintf("; its lease or queue position expires in %v", e.Left)
	}
	return s
}
