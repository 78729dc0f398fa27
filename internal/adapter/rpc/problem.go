package rpc

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// Domain is the domain of the reasons in the errors that clients get.
const Domain = "interlock"

// A Problem is the error of a call that the handler did not answer. Its text is for the
// client; Unwrap returns the cause.
type Problem struct { //nolint:errname // named as in package interlockhttp
	*interlockhttp.Problem
	GRPC Code
	Text string
}

// Error implements error.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Problem.Err }

// Reason returns the code of the problem, as in the reason of an ErrorInfo.
func (p *Problem) Reason() string { return string(p.Code) }

// Metadata returns the metadata of an ErrorInfo.
func (p *Problem) Metadata() map[string]string {
	md := map[string]string{"retryable": flag(p.Retryable), "same_key": flag(p.SameKey)}
	if d := p.RetryDelay(); d > 0 {
		md["retry_after_ms"] = strconv.FormatInt(max(1, d.Milliseconds()), 10)
	}
	if !p.FirstSeen.IsZero() {
		md["first_seen"] = p.FirstSeen.UTC().Format(time.RFC3339)
	}
	return md
}

// RetryDelay returns how long a client should wait before a retry; zero if it should not
// retry.
func (p *Problem) RetryDelay() time.Duration {
	switch {
	case !p.Retryable:
		return 0
	case p.RetryAfter > 0:
		return p.RetryAfter
	}
	return time.Second
}

func flag(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// A kind is the gRPC code and the text of a problem.
type kind struct {
	code Code
	text string
}

var kinds = map[interlockhttp.Code]kind{
	interlockhttp.KeyMissing:        {InvalidArgument, "the call needs a key: a new one for each new operation, and the same one for every retry"},
	interlockhttp.KeyInvalid:        {InvalidArgument, "the key is invalid: send one key, such as a UUID"},
	interlockhttp.UserMissing:       {Unauthenticated, "the call has no authenticated user"},
	interlockhttp.InProgress:        {Aborted, "an earlier call with this key is still running"},
	interlockhttp.Duplicate:         {AlreadyExists, "this was done a moment ago"},
	interlockhttp.OutcomeUnknown:    {FailedPrecondition, "the outcome of an earlier call with this key is unknown; do not retry with a new key"},
	interlockhttp.ResultUnavailable: {FailedPrecondition, "the call was done before, and its reply was not kept; do not retry with a new key"},
	interlockhttp.FailedBefore:      {FailedPrecondition, "the call failed before and does not run again with this key"},
	interlockhttp.KeyReused:         {FailedPrecondition, "the key was used for another call; use a new key for a new call"},
	interlockhttp.Locked:            {Aborted, "not executed: another call holds the lock"},
	interlockhttp.TooManyWaiters:    {ResourceExhausted, "not executed: too many calls wait for the same key"},
	interlockhttp.QuotaExceeded:     {ResourceExhausted, "not executed: the quota of this window is used up"},
	interlockhttp.RecordCorrupt:     {DataLoss, "the stored record of an earlier call is damaged; do not retry with a new key"},
	interlockhttp.StoreUnavailable:  {Unavailable, "not executed: the store is unavailable; retry with the same key"},
	interlockhttp.Closing:           {Unavailable, "not executed: the server is shutting down; retry with the same key"},
	setUp:                           {Internal, "not executed: the server is set up wrongly"},
}

// setUp is the code of a mistake in the server's program.
const setUp interlockhttp.Code = "set_up"

func problemOf(c interlockhttp.Code, err error) *Problem {
	p := &Problem{Problem: interlockhttp.NewProblem(c), GRPC: kinds[c].code, Text: kinds[c].text}
	p.Err = err
	return p
}

// keyProblem turns an error of a source into a problem.
func keyProblem(s Source, err error) *Problem {
	switch {
	case errors.Is(err, errSetUp):
		p := problemOf(setUp, err)
		p.Text = "interlock: " + err.Error()
		return p
	case errors.Is(err, errNoKey):
		p := problemOf(interlockhttp.KeyMissing, err)
		if s.shared {
			p.Text = s.name + " is missing: send a new key for each new operation, and the same key for every retry"
		}
		return p
	case errors.Is(err, errShortKey), errors.Is(err, errTwoKeys), errors.Is(err, errLongKey), errors.Is(err, errBadKey):
		p := problemOf(interlockhttp.KeyInvalid, err)
		p.Text += "; " + err.Error()
		return p
	}
	return problemOf(interlockhttp.KeyInvalid, err) // a function's error may not be meant for clients
}

// problem turns an error of a guard, lock or quota into a problem.
func (m *Middleware) problem(c *Call, err error) *Problem {
	var (
		p         *Problem
		duplicate *guard.DuplicateError
		unknown   *guard.UnknownError
		noResult  *guard.NoResultError
		busy      *interlock.ContendedError
		exceeded  *interlock.QuotaError
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &duplicate):
		return m.duplicateProblem(c, duplicate)
	case errors.As(err, &unknown):
		p = problemOf(interlockhttp.OutcomeUnknown, err)
		p.FirstSeen = unknown.Began
	case errors.As(err, &noResult):
		p = problemOf(interlockhttp.RecordCorrupt, err)
		for _, why := range []error{guard.ErrNoResult, guard.ErrTooLarge, guard.ErrNoSpace, guard.ErrCodec} {
			if errors.Is(noResult.Err, why) {
				p = problemOf(interlockhttp.ResultUnavailable, err)
			}
		}
	case errors.As(err, &busy):
		p = problemOf(interlockhttp.Locked, err)
		p.RetryAfter = m.latency.retryAfter(busy.RetryAfter)
	case errors.As(err, &exceeded):
		p = problemOf(interlockhttp.QuotaExceeded, err)
		p.RetryAfter = exceeded.RetryAfter
	default:
		p = problemOf(codeOf(err), err)
	}
	return p
}

// codeOf returns the code of an error that has no further details.
func codeOf(err error) interlockhttp.Code {
	for _, c := range []struct {
		err  error
		code interlockhttp.Code
	}{
		{guard.ErrMismatch, interlockhttp.KeyReused},
		{guard.ErrFailed, interlockhttp.FailedBefore},
		{guard.ErrClosed, interlockhttp.Closing},
		{interlock.ErrClosed, interlockhttp.Closing},
		{interlock.ErrKey, interlockhttp.KeyInvalid},
		{interlock.ErrContended, interlockhttp.Locked},
	} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return interlockhttp.StoreUnavailable
}

// duplicateProblem turns a refusal of a duplicate into a problem.
func (m *Middleware) duplicateProblem(c *Call, e *guard.DuplicateError) *Problem {
	code := interlockhttp.Duplicate
	switch {
	case e.TooManyWaiters:
		code = interlockhttp.TooManyWaiters
	case e.Running:
		code = interlockhttp.InProgress
	}
	p := problemOf(code, e)
	p.RetryAfter = e.RetryAfter
	p.SameKey = p.SameKey && m.Keeps() // without a kept reply a repeat would run again, so a client must not retry by itself
	if code != interlockhttp.TooManyWaiters {
		p.Status = e.Status
		if !maps.Equal(e.Message, guard.DefaultMessage()) && !maps.Equal(e.Message, guard.DoneMessage()) {
			p.Text = e.Message.In(language(c))
		}
	}
	if e.Running && m.policy.After != guard.Window {
		p.RetryAfter = m.latency.retryAfter(e.RetryAfter)
	}
	return p
}

// language returns the language that the client prefers; "" if it has stated none.
func language(c *Call) string {
	list := strings.Join(c.Header("accept-language"), ",")
	first, _, _ := strings.Cut(list, ",")
	first, _, _ = strings.Cut(first, ";")
	return strings.TrimSpace(first)
}

// contextEnded replaces err if the call's own context ended while it waited for another call.
// A timeout of the server may have ended it, so the client may still be there.
func (m *Middleware) contextEnded(ctx context.Context, err error) error {
	p := &m.policy
	if ctx.Err() == nil || p.OnDuplicate != guard.Wait || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return &guard.DuplicateError{Guard: p.Name, Running: true, Message: p.Message, Status: p.Status}
}

// A latencyAverage is a moving average of how long handlers take, in nanoseconds.
type latencyAverage struct{ atomic.Int64 }

func (a *latencyAverage) record(d time.Duration) {
	average := a.Load()
	a.Store(average + (int64(d)-average)/8) // a concurrent update may be lost, which does no harm
}

// retryAfter estimates when running work ends. The average is a better estimate than the
// time left on the lease, because the lease is renewed.
func (a *latencyAverage) retryAfter(left time.Duration) time.Duration {
	return max(time.Second, min(time.Duration(a.Load()), left))
}
