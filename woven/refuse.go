package woven

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/rule"
)

// A RefusedError says why a function with a directive was not run.
type RefusedError struct {
	Site    *Site
	Message guard.Message // for people
	Err     error         // such as an *interlock.ContendedError or a *guard.DuplicateError
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("woven: %s did not run (%s): %v", e.Site.function(), e.Site.Pos, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// DefaultMessage returns the refusal message of a lock.
func DefaultMessage() guard.Message {
	return guard.Message{
		"en": "this is being worked on, please try again later",
		"zh": "操作太频繁，请稍后再试",
	}
}

// refuse handles a call that does not run, and reports whether it returns zero values
// and no error.
//
// The directive's choice applies to contended and duplicate calls. Any other failure is
// returned as an error. If the function returns no error, only a mistake in the program
// panics: an engine that is down must not crash it.
func (s *Site) refuse(st *state, err error, errp *error) (quiet bool) {
	late := errors.Is(err, interlock.ErrContended) || errors.Is(err, guard.ErrDuplicate)
	silent := st.rule.OnTimeout == rule.Zero || st.rule.OnTimeout == rule.Call || st.rule.OnDuplicate == rule.Skip
	loud := st.rule.OnTimeout == rule.Panic
	switch {
	case late && silent, errp == nil && silent && !isMistake(err):
		return true
	case errp == nil, late && loud:
		panic(s.refused(st, err))
	case errors.Is(err, guard.ErrFailed):
		*errp = err // the error of the earlier call
	default:
		*errp = s.refused(st, err)
	}
	return false
}

func (s *Site) refused(st *state, err error) *RefusedError {
	e := &RefusedError{Site: s, Message: st.policy.Message, Err: err}
	var duplicate *guard.DuplicateError
	if errors.As(err, &duplicate) {
		e.Message = duplicate.Message // it says whether the work runs or is done
	}
	if e.Message == nil { // a lock; a guard's policy has a message
		e.Message = st.rule.Messages(DefaultMessage())
	}
	if e.Message == nil {
		e.Message = DefaultMessage()
	}
	return e
}

// isMistake reports whether the error is a mistake in the program.
func isMistake(err error) bool {
	for _, mistake := range []error{ErrSite, interlock.ErrKey, interlock.ErrOption, guard.ErrPolicy, errors.ErrUnsupported} {
		if errors.Is(err, mistake) {
			return true
		}
	}
	return false
}
