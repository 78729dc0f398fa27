package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var (
	// ErrDuplicate means that somebody else was first. Errors that match it are a
	// *[DuplicateError].
	ErrDuplicate = errors.New("guard: duplicate")

	// ErrMismatch means that the key was used for something else before. Errors
	// that match it are a *[MismatchError].
	ErrMismatch = errors.New("guard: key was used for something else")

	// ErrUnknown means that nobody knows what became of the work. Errors that
	// match it are an *[UnknownError]. An error of the work's own that matches it
	// says that the work does not know, either; see [OutcomeUnknown].
	ErrUnknown = errors.New("guard: outcome unknown")

	// ErrFailed means that the work was tried before, and failed for good. Errors
	// that match it are a *[FailedError].
	ErrFailed = errors.New("guard: failed before")

	// ErrNoResult means that the work was done before, and its result cannot be
	// had. Errors that match it are a *[NoResultError].
	ErrNoResult = errors.New("guard: done before, without a result to return")

	// ErrNotStored means that the work was done, and that this may be forgotten.
	ErrNotStored = errors.New("guard: result was not stored")

	// ErrDown means that the engine could not be asked. Errors that match it are a
	// *[DownError].
	ErrDown = errors.New("guard: engine is down")

	// ErrClosed means that the guard was closed.
	ErrClosed = errors.New("guard: closed; make another one, or begin nothing during shutdown")

	// ErrSettled means that a claim was settled before.
	ErrSettled = errors.New("guard: claim was settled before")
)

// A DuplicateError says that somebody else was first.
type DuplicateError struct {
	Guard          string        // the policy's name
	Key            string        // what the engine calls the key
	Running        bool          // the work still runs; otherwise it was done
	Self           bool          // it is this very context that does it
	TooManyWaiters bool          // too many wait for it already
	RetryAfter     time.Duration // until a repeat is accepted; of work that runs what is left of its lease, which is renewed
	Message        Message       // for a person
	Status         int           // for an HTTP answer
}

// Error implements error.
func (e *DuplicateError) Error() string {
	switch {
	case e.Self:
		return fmt.Sprintf("guard: %q is being done by this very context, and would wait for itself; let it return first, or use another key", e.Key)
	case e.TooManyWaiters:
		return fmt.Sprintf("guard: %q is being done, and too many wait for it; try again in %v", e.Key, e.RetryAfter.Round(time.Millisecond))
	case e.Running:
		return fmt.Sprintf("guard: %q is being done; try again in %v", e.Key, e.RetryAfter.Round(time.Millisecond))
	}
	return fmt.Sprintf("guard: %q was done; a repeat is accepted in %v", e.Key, e.RetryAfter.Round(time.Millisecond))
}

// Is makes every DuplicateError match [ErrDuplicate].
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }

// A MismatchError says that the key was used for something else.
type MismatchError struct{ Guard, Key string }

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("guard: %q was used for something else; use a new key for a new intent", e.Key)
}

// Is makes every MismatchError match [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// An UnknownError says that nobody knows what became of the work.
type UnknownError struct {
	Guard string
	Key   string
	Fence uint64        // of the claim that did it: what it changed may show
	Began time.Time     // when, by the engine's clock
	Left  time.Duration // for how long that is remembered
	Err   error         // why it could not be resolved, if that was tried
}

// Error implements error.
func (e *UnknownError) Error() string {
	s := fmt.Sprintf("guard: nobody knows what became of %q, begun at %s; find out, then say it with Resolve or Forget",
		e.Key, e.Began.UTC().Format(time.RFC3339))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every UnknownError match [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// Unwrap returns why it could not be resolved.
func (e *UnknownError) Unwrap() error { return e.Err }

// A FailedError is the error of an earlier call, in its words.
type FailedError struct {
	Guard string
	Key   string
	Text  string        // what the work's error said
	Left  time.Duration // until it may be tried again
}

// Error implements error.
func (e *FailedError) Error() string { return e.Text }

// Is makes every FailedError match [ErrFailed].
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// A NoResultError says why the result of work that was done cannot be had.
type NoResultError struct {
	Guard string
	Key   string
	Err   error // such as [ErrTooLarge], [ErrCorrupt], or what the codec said
}

// Error implements error.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("guard: %q was done, but its result cannot be had: %v", e.Key, e.Err)
}

// Is makes every NoResultError match [ErrNoResult].
func (e *NoResultError) Is(target error) bool { return target == ErrNoResult }

// Unwrap returns why.
func (e *NoResultError) Unwrap() error { return e.Err }

// A DownError says that the engine could not be asked, so that nothing was run.
type DownError struct {
	Guard string
	Key   string
	Err   error
}

// Error implements error.
func (e *DownError) Error() string {
	return fmt.Sprintf("guard: %q was not begun, since the engine could not be asked: %v", e.Key, e.Err)
}

// Is makes every DownError match [ErrDown].
func (e *DownError) Is(target error) bool { return target == ErrDown }

// Unwrap returns what the engine said.
func (e *DownError) Unwrap() error { return e.Err }

// A denialError is what an engine said that was asked and would not: its user may
// not run scripts, or something else is at the key. An operator has to mend that.
type denialError struct {
	key string
	err error
}

func (e *denialError) Error() string { return fmt.Sprintf("guard: claiming %q: %v", e.key, e.err) }
func (e *denialError) Unwrap() error { return e.err }

// OutcomeUnknown returns err as that of work which does not know what became of it: a
// request that was sent, and not answered. [Policy.OnUnknown] then says what
// happens, and not [Policy.OnError].
func OutcomeUnknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// NotExecuted returns err as that of work which is sure that nothing has happened,
// although err itself, or the end of its context, leaves that open: a connection
// that was never made, a transaction that was rolled back. [Policy.OnError] then
// says what happens.
func NotExecuted(err error) error {
	if err == nil {
		return nil
	}
	return &notExecutedError{err}
}

type notExecutedError struct{ err error }

func (e *notExecutedError) Error() string { return e.err.Error() }
func (e *notExecutedError) Unwrap() error { return e.err }

// isDown tells whether err means that the engine could not be asked.
func isDown(err error) bool { return engine.Temporary(err) || errors.Is(err, engine.ErrFull) }
