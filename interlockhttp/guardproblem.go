package interlockhttp

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// refuse sends the problem for err.
func (q *request) refuse(err error) {
	p := q.middleware.problem(err)
	h := q.w.Header()
	if q.keyField != "" {
		h[fieldKey] = q.Header[q.keyField]
	}
	if p.SameKey && q.middleware.keeps() { // tell the client how long it may retry with the same key
		h[fieldExpires] = q.middleware.expires
		if left, ok := recordLeft(err); ok {
			h[fieldExpires] = []string{wholeSeconds(left)}
		}
	}
	q.settings.sendProblem(q.w, q.Request, p)
}

// recordLeft returns how long the record behind an error lasts, if the error knows.
func recordLeft(err error) (time.Duration, bool) {
	var (
		unknown *guard.UnknownError
		failed  *guard.FailedError
	)
	switch {
	case errors.As(err, &unknown):
		return unknown.Left, true
	case errors.As(err, &failed):
		return failed.Left, true
	}
	return 0, false
}

// contextEnded replaces err if the request's own context ended while it waited for another
// request. A timeout of the server may have ended the context. Then the client is still
// connected, and learns that the other request still runs.
func (q *request) contextEnded(err error) error {
	p := &q.middleware.policy
	if q.Context().Err() == nil || p.OnDuplicate != guard.Wait || !errors.Is(err, context.Cause(q.Context())) {
		return err
	}
	return q.middleware.duplicateProblem(&guard.DuplicateError{Guard: p.Name, Running: true, Message: p.Message, Status: p.Status})
}

// problem turns an error of a guard into a problem.
func (m *Middleware) problem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var (
		duplicate *guard.DuplicateError
		unknown   *guard.UnknownError
		noResult  *guard.NoResultError
	)
	switch {
	case errors.As(err, &duplicate):
		return m.duplicateProblem(duplicate)
	case errors.As(err, &unknown):
		p = problemOf(OutcomeUnknown, err)
		p.FirstSeen = unknown.Began
	case errors.As(err, &noResult):
		p = problemOf(RecordCorrupt, err)
		for _, why := range []error{guard.ErrNoResult, guard.ErrTooLarge, guard.ErrNoSpace, guard.ErrCodec} {
			if errors.Is(noResult.Err, why) { // ErrNoResult: an operator settled it without a response
				p = problemOf(ResultUnavailable, err)
			}
		}
	default:
		p = problemOf(codeOf(err), err)
	}
	return p
}

// codeOf returns the code of an error that has no further details.
func codeOf(err error) Code {
	for _, c := range []struct {
		err  error
		code Code
	}{
		{guard.ErrMismatch, KeyReused},
		{guard.ErrFailed, FailedBefore},
		{guard.ErrTokenUnknown, TokenUnknown},
		{guard.ErrTokenForeign, TokenForeign},
		{guard.ErrTokenExpired, TokenExpired},
		{guard.ErrClosed, Closing},
		{interlock.ErrClosed, Closing},
		{interlock.ErrKey, KeyInvalid},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return StoreUnavailable
}

// duplicateProblem turns a refusal of a duplicate into a problem.
func (m *Middleware) duplicateProblem(e *guard.DuplicateError) *Problem {
	code := Duplicate
	switch {
	case e.TooManyWaiters:
		code = TooManyWaiters
	case e.Running:
		code = InProgress
	}
	p := problemOf(code, e)
	p.RetryAfter = e.RetryAfter
	p.SameKey = p.SameKey && m.keeps() // without a kept response a repeat would run again, so a client must not retry by itself
	if code != TooManyWaiters {
		p.Status = e.Status
	}
	// A problem has its own text for a duplicate of work that is done.
	if code != TooManyWaiters && !maps.Equal(e.Message, guard.DoneMessage()) {
		p.Message = e.Message
	}
	if e.Running && m.policy.After != guard.Window {
		p.RetryAfter = m.latency.retryAfter(e.RetryAfter)
	}
	return p
}

// problemOf returns a problem with its cause.
func problemOf(c Code, err error) *Problem {
	p := newProblem(c)
	p.Err = err
	return p
}

func lengthOf(body []byte) string { return strconv.Itoa(len(body)) }
