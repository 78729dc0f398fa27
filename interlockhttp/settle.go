package interlockhttp

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"

	"github.com/interlock-go/interlock/guard"
)

// An Outcome is what a handler says of what it did, if its status does not.
type Outcome uint8

// The outcomes.
const (
	byStatus    Outcome = iota
	Kept                // it was done, and the answer is to be kept, whatever its status
	Private             // it was done, and the answer is nobody's but this caller's: it is not kept
	NotExecuted         // nothing was done: the next request runs, whatever the status
	Unknown             // nobody knows: the policy's OnUnknown says what happens, whatever the status
)

// Settle says what became of the request that ctx belongs to. The last word counts,
// until the handler has returned; it reports whether there was somebody to hear it.
// That is the innermost middleware, if there are several.
func Settle(ctx context.Context, o Outcome) bool {
	d, _ := ctx.Value(outcomeKey{}).(*outcomeContext)
	if d == nil {
		return false
	}
	for {
		switch was := d.outcome.Load(); {
		case was == outcomeClosed:
			return false
		case d.outcome.CompareAndSwap(was, uint32(o)):
			return true
		}
	}
}

// outcomeClosed is instead of an outcome when nothing more is heard.
const outcomeClosed = 1 << 8

// An outcomeContext is the context of a handler, on which it may say what became of the
// request.
type outcomeContext struct {
	context.Context
	middleware *Middleware
	outer      *outcomeContext // the request may be in the hands of several
	outcome    atomic.Uint32   // an Outcome, or past: a handler may have left somebody behind
}

type outcomeKey struct{}

// Value finds the decision itself for package interlockhttp.
func (d *outcomeContext) Value(key any) any {
	if _, ok := key.(outcomeKey); ok {
		return d
	}
	return d.Context.Value(key)
}

// aboutCaller are statuses of answers that are about who asks, or when, and not about
// what was asked.
var aboutCaller = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusProxyAuthRequired: true,
	http.StatusRequestTimeout: true, http.StatusMisdirectedRequest: true, http.StatusLocked: true,
	http.StatusTooEarly: true, http.StatusTooManyRequests: true, 499: true,
}

// keepsStatus tells whether an answer with that status is kept, unless its handler
// says otherwise.
func (q *request) keepsStatus(status int) bool {
	return q.outcome(status, q.outcomeContext.outcome.Load()) == Kept
}

// outcome returns what became of the request: what the handler said of it, or else
// what its status says.
func (q *request) outcome(status int, said uint32) Outcome {
	switch {
	case said != uint32(byStatus):
		return Outcome(said) //nolint:gosec // it was one
	case status >= 500:
		return Unknown
	case status < 400:
		return Kept
	case aboutCaller[status] || q.middleware.policy.OnError != guard.Keep:
		return NotExecuted
	}
	return Kept
}

// settle says what became of the request, before the answer goes out.
func (q *request) settle(claim *guard.Claim[*Response]) {
	r := &q.response
	q.capture.response(r, q.settings)
	var err error
	if r.headerSize() > maxHeaderBytes {
		r.Omitted = cmp.Or(r.Omitted, tooLong)
	}
	outcome := q.outcome(r.Status, q.outcomeContext.outcome.Swap(outcomeClosed))
	switch outcome {
	case Kept:
		err = claim.Complete(r)
	case Private:
		r.Omitted = private
		err = claim.Complete(r)
	case NotExecuted:
		err = claim.Free()
	default:
		err = claim.Abandon()
	}
	// The answer is true, whatever became of storing it.
	q.notStored = q.notStored || outcome != Kept || r.Omitted != "" || err != nil
}
