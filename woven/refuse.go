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
	Message guard.Message // for a person
	Err     error         // such as an *interlock.ContendedError or a *guard.DuplicateError
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("woven: %s was not run (%s): %v", e.Site.function(), e.Site.Pos, e.Err)
}

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }

// DefaultMessage returns what a person is told who did not get a lock (T5).
func DefaultMessage() guard.Message {
	return guard.Message{
		"en": "this is being worked on, please try again later",
		"zh": "操作太频繁，请稍后再试",
	}
}

// refuse does what the directive says about a function that is not to run, and
// tells whether that is to say nothing.
//
// What the directive says is about those who are too late. Anything else that is
// wrong is an error, as long as there is one to return. Where there is none, only
// a mistake in the program panics: an engine that is down is no reason to end a
// program that asked to be left alone.
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
		*errp = err // it is that of the function, when it ran
	default:
		*errp = s.refused(st, err)
	}
	return false
}

func (s *Site) refused(st *state, err error) *RefusedError {
	e := &RefusedError{Site: s, Message: st.policy.Message, Err: err}
	if e.Message == nil { // it is a lock's: the policy of a guard has one
		e.Message = st.rule.Messages(DefaultMessage())
	}
	if e.Message == nil {
		e.Message = DefaultMessage()
	}
	return e
}

// isMistake tells whether it is the program that has to be changed.
func isMistake(err error) bool {
	for _, mistake := range []error{ErrSite, interlock.ErrKey, interlock.ErrOption, guard.ErrPolicy, errors.ErrUnsupported} {
		if errors.Is(err, mistake) {
			return true
		}
	}
	return false
}
