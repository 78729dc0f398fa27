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

// refuse handles a call that does not run. It stores the error in *errp, panics, or
// reports that the call is skipped. A skipped function returns no error, but zero values or
// the results of its fallback.
//
// The directive chooses what happens to contended calls, to duplicates, and to calls beyond a
// limit. Any other failure is stored in *errp.
//
// A function without an error result has a nil errp. If its directive says skip or call,
// refuse skips the function, unless the failure is a mistake in the program. Otherwise
// refuse panics, even if the only failure is that the engine is down.
func (st *state) refuse(err error, errp *error) (skipped bool) {
	contended := errors.Is(err, interlock.ErrContended) || errors.Is(err, guard.ErrDuplicate) || errors.Is(err, interlock.ErrQuota)
	skips := st.rule.OnTimeout == rule.Zero || st.rule.OnTimeout == rule.Call || st.rule.OnDuplicate == rule.Skip
	panics := st.rule.OnTimeout == rule.Panic
	switch {
	case contended && skips, errp == nil && skips && !isMistake(err):
		return true
	case errp == nil, contended && panics:
		panic(st.refused(err))
	case errors.Is(err, guard.ErrFailed):
		*errp = err // the error of the earlier call
	default:
		*errp = st.refused(err)
	}
	return false
}

func (st *state) refused(err error) *RefusedError {
	return &RefusedError{Site: st.site, Message: st.message(err), Err: err}
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
