package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var (
	// ErrDuplicate means that an earlier call with the key runs or was done. Errors
	// that match it are a *[DuplicateError].
	ErrDuplicate = errors.New("guard: duplicate")

	// ErrMismatch means that the key was used with another payload. Errors that match
	// it are a *[MismatchError].
	ErrMismatch = errors.New("guard: key was used with another payload")

	// ErrUnknown means that the outcome of earlier work is unknown. Errors that match
	// it are an *[UnknownError]. The work itself may return an error that matches it;
	// see [OutcomeUnknown].
	ErrUnknown = errors.New("guard: outcome unknown")

	// ErrFailed means that the work failed before, and its error was kept. Errors that
	// match it are a *[FailedError].
	ErrFailed = errors.New("guard: failed before")

	// ErrNoResult means that the work was done before, and its result is not
	// available. Errors that match it are a *[NoResultError].
	ErrNoResult = errors.New("guard: done before, result not available")

	// ErrNotStored means that the work was done, but the engine has no record of it.
	ErrNotStored = errors.New("guard: result was not stored")

	// ErrDown means that the engine is down. Errors that match it are a *[DownError].
	ErrDown = errors.New("guard: engine is down")

	// ErrClosed means that the guard was closed.
	ErrClosed = errors.New("guard: closed; start no work during shutdown")

	// ErrSettled means that the claim was already settled.
	ErrSettled = errors.New("guard: claim is already settled")
)

// A DuplicateError reports that an earlier call with the key runs or was done.
type DuplicateError struct {
	Guard          string        // the policy's name
	Key            string        // as the engine stores it
	Running        bool          // the work still runs; otherwise it is done
	Self           bool          // the caller's own context does the work
	TooManyWaiters bool          // the limit of waiting duplicates is reached
	RetryAfter     time.Duration // time until a repeat is accepted; while the work runs, the rest of its lease
	Message        Message       // the text for the user
	Status         int           // the status of an HTTP response
}

// Error implements error.
func (e *DuplicateError) Error() string {
	switch {
	case e.Self:
		return fmt.Sprintf("guard: %q is already running in this context and would wait for itself; let it return first, or use another key", e.Key)
	case e.TooManyWaiters:
		return fmt.Sprintf("guard: %q is running and too many calls wait for it; retry in %v", e.Key, e.RetryAfter.Round(time.Millisecond))
	case e.Running:
		return fmt.Sprintf("guard: %q is running; retry in %v", e.Key, e.RetryAfter.Round(time.Millisecond))
	}
	return fmt.Sprintf("guard: %q is done; a repeat is accepted in %v", e.Key, e.RetryAfter.Round(time.Millisecond))
}

// Is makes every DuplicateError match [ErrDuplicate].
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// A MismatchError reports that the key was used with another payload.
type MismatchError struct{ Guard, Key string }

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("guard: %q was used with another payload; use a new key for a new request", e.Key)
}

// Is makes every MismatchError match [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// An UnknownError reports that the outcome of earlier work is unknown.
type UnknownError struct {
	Guard string
	Key   string
	Fence uint64        // the fence of the claim that did the work; stores that it changed may have recorded it
	Began time.Time     // when the claim was granted, by the engine's clock
	Left  time.Duration // time until the record expires
	Err   error         // the resolver's error, if there is one
}

// Error implements error.
func (e *UnknownError) Error() string {
	s := fmt.Sprintf("guard: the outcome of %q, begun at %s, is unknown; find out whether the work was done, then call Resolve or Forget",
		e.Key, e.Began.UTC().Format(time.RFC3339))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every UnknownError match [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// Unwrap returns the resolver's error.
func (e *UnknownError) Unwrap() error { return e.Err }

// A FailedError repeats the error of an earlier call.
type FailedError struct {
	Guard string
	Key   string
	Text  string        // the text of the work's error
	Left  time.Duration // time until the work may run again
}

// Error implements error.
func (e *FailedError) Error() string { return e.Text }

// Is makes every FailedError match [ErrFailed].
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// A NoResultError reports why the result of completed work is not available.
type NoResultError struct {
	Guard string
	Key   string
	Err   error // such as [ErrTooLarge], [ErrCorrupt], or the codec's error
}

// Error implements error.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("guard: %q is done, but its result is not available: %v", e.Key, e.Err)
}

// Is makes every NoResultError match [ErrNoResult].
func (e *NoResultError) Is(target error) bool { return target == ErrNoResult }

// Unwrap returns the reason.
func (e *NoResultError) Unwrap() error { return e.Err }

// A DownError reports that the engine is down, and that nothing ran.
type DownError struct {
	Guard string
	Key   string
	Err   error
}

// Error implements error.
func (e *DownError) Error() string {
	return fmt.Sprintf("guard: %q did not run, because the engine is down: %v", e.Key, e.Err)
}

// Is makes every DownError match [ErrDown].
func (e *DownError) Is(target error) bool { return target == ErrDown }

// Unwrap returns the engine's error.
func (e *DownError) Unwrap() error { return e.Err }

// A denialError reports that the engine refused the request: its user may not run
// scripts, or the key holds another type. An operator has to fix that.
type denialError struct {
	key string
	err error
}

func (e *denialError) Error() string { return fmt.Sprintf("guard: claiming %q: %v", e.key, e.err) }
func (e *denialError) Unwrap() error { return e.err }

// OutcomeUnknown marks err as the error of work whose outcome is unknown, such as a request
// that got no reply. [Policy.OnUnknown] then decides, not [Policy.OnError].
func OutcomeUnknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// NotExecuted marks err as the error of work that certainly had no effect, even if err is a
// timeout or the context has ended: for instance, the connection was never made, or
// the transaction was rolled back. [Policy.OnError] then decides.
func NotExecuted(err error) error {
	if err == nil {
		return nil
	}
	return &notExecutedError{err}
}

type notExecutedError struct{ err error }

func (e *notExecutedError) Error() string { return e.err.Error() }
func (e *notExecutedError) Unwrap() error { return e.err }

// Is makes the error match [ErrNotExecuted].
func (e *notExecutedError) Is(target error) bool { return target == ErrNotExecuted }

// isDown reports whether err means that the engine is down.
func isDown(err error) bool { return engine.Temporary(err) || errors.Is(err, engine.ErrFull) }
