package interlockhttp

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/interlock-go/interlock/guard"
)

// An Outcome is what a handler did, if the status of its response does not say it.
type Outcome uint8

// The outcomes.
const (
	byStatus    Outcome = iota // the status of the response decides
	Kept                       // done: keep the response, regardless of its status
	Private                    // done: do not keep the response, since it is only for this caller
	NotExecuted                // not done: the next request runs, regardless of the status
	Unknown                    // unknown: the policy's OnUnknown decides, regardless of the status
	Failed                     // failed without any effect: the policy's OnError decides
)

// outcomes are the values of the response header Interlock-Outcome, with which a handler or
// a service in any language states its outcome.
var outcomes = map[string]Outcome{"done": Kept, "failed": Failed, "not-executed": NotExecuted, "unknown": Unknown}

// ParseOutcome returns the outcome that the values of the response header
// Interlock-Outcome state: done, failed, not-executed or unknown. If there are no values,
// it returns zero, and the status of the response decides. Any other value is [Unknown].
func ParseOutcome(values []string) Outcome {
	if len(values) == 0 {
		return byStatus
	}
	if o, ok := outcomes[strings.ToLower(strings.TrimSpace(values[0]))]; ok && len(values) == 1 {
		return o
	}
	return Unknown
}

// Settle sets the outcome of the request that ctx belongs to. A handler may call it more
// than once: the last call decides. With nested middlewares, it sets the outcome of the
// innermost one. Every [Limit] around the handler gives its unit back if the outcome is
// [NotExecuted]. Settle reports false if ctx belongs to no guarded or limited request, or
// if the handler has returned.
func Settle(ctx context.Context, o Outcome) bool {
	limited := settleUnits(ctx, o)
	d, _ := ctx.Value(outcomeKey{}).(*outcomeContext)
	if d == nil {
		return limited
	}
	for {
		switch current := d.outcome.Load(); {
		case current == outcomeClosed:
			return false
		case d.outcome.CompareAndSwap(current, uint32(o)):
			return true
		}
	}
}

// SettleError sets the outcome of the request that ctx belongs to. An error that the
// handler got from another service, such as a bank, determines the outcome: [NotExecuted]
// if nothing was sent, and [Unknown] if the connection broke afterwards. For other errors
// the status decides. See [guard.Classify] and [guard.Policy.Classify]. SettleError reports
// false in the same cases as [Settle].
func SettleError(ctx context.Context, err error) bool {
	classify := guard.Classify
	if d, _ := ctx.Value(outcomeKey{}).(*outcomeContext); d != nil {
		classify = d.middleware.guard.Classify
	}
	switch classify(err) {
	case guard.ClassNotSent:
		return Settle(ctx, NotExecuted)
	case guard.ClassUnknown:
		return Settle(ctx, Unknown)
	}
	return Settle(ctx, byStatus)
}

// outcomeClosed replaces the outcome once the handler has returned.
const outcomeClosed = 1 << 8

// An outcomeContext is the context of a handler. Settle stores the outcome in it.
type outcomeContext struct {
	context.Context
	middleware *Middleware
	outer      *outcomeContext // the context of an outer middleware, or nil
	outcome    atomic.Uint32   // an Outcome, or outcomeClosed; atomic, since goroutines of the handler may call Settle
}

type outcomeKey struct{}

// Value returns the context itself for this package's own key.
func (d *outcomeContext) Value(key any) any {
	if _, ok := key.(outcomeKey); ok {
		return d
	}
	return d.Context.Value(key)
}

// dependsOnCaller lists statuses that depend on the sender or the time, not on the request.
var dependsOnCaller = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusProxyAuthRequired: true,
	http.StatusRequestTimeout: true, http.StatusMisdirectedRequest: true, http.StatusLocked: true,
	http.StatusTooEarly: true, http.StatusTooManyRequests: true,
}

// statusCanceled is the status that gRPC gateways and others send when their own call was
// canceled. The work may be half done. The client did not cause it: the context of a
// handler does not end when its client disconnects.
const statusCanceled = 499

// keepsStatus reports whether a response with that status is kept, given the outcome that
// the handler has set so far.
func (q *request) keepsStatus(status int) bool {
	return q.outcome(status, Outcome(q.outcomeContext.outcome.Load())) == Kept //nolint:gosec // not outcomeClosed: the handler runs
}

// outcome returns the outcome that the handler set with Settle. Without one, it returns
// the outcome of the header, or else that of the status.
func (q *request) outcome(status int, declared Outcome) Outcome {
	return q.middleware.outcome(status, cmp.Or(declared, q.capture.declared))
}

// Outcome returns the outcome of a response with that status, if the handler does not
// state another one: [Kept], [NotExecuted] or [Unknown].
func (m *Middleware) Outcome(status int) Outcome { return m.outcome(status, byStatus) }

func (m *Middleware) outcome(status int, declared Outcome) Outcome {
	if declared == byStatus {
		declared = m.statusOutcome(status)
	}
	switch {
	case declared != Failed:
		return declared
	case dependsOnCaller[status], m.policy.OnError != guard.Keep:
		return NotExecuted
	}
	return Kept
}

// statusOutcome returns the outcome that a status implies.
func (m *Middleware) statusOutcome(status int) Outcome {
	p, s := &m.policy, m.settings
	switch {
	case s.notExecuted[status]:
		return NotExecuted
	case status < 300:
		return Kept
	case status < 400:
		return s.redirectOutcome(status)
	case status == http.StatusServiceUnavailable:
		return NotExecuted
	case status == statusCanceled:
		return Unknown
	case status < 500:
		return Failed
	// A proxy behind the handler got no answer: the server may have executed the request.
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return Unknown
	// If an unknown outcome would be held, keep the handler's 5xx instead: it tells a client
	// more than a problem response. With Resolve or Rerun, the outcome stays unknown, so that the
	// resolver or the next request can settle it.
	case p.After == guard.Keep && p.OnUnknown == guard.Hold:
		return Kept
	}
	return Unknown
}

// redirectOutcome returns the outcome of a 3xx. With 307 and 308 the client repeats the
// request elsewhere. Others may lead to the new order, or to the page where users sign in.
func (s *settings) redirectOutcome(status int) Outcome {
	switch {
	case s.keepRedirects, status == http.StatusNotModified:
		return Kept
	case status == http.StatusTemporaryRedirect, status == http.StatusPermanentRedirect:
		return NotExecuted
	}
	return Unknown
}

// settle settles the claim before the response is sent.
func (q *request) settle(claim *guard.Claim[*Response]) {
	r := &q.response
	q.capture.response(r, q.settings)
	var err error
	if r.headerSize() > maxHeaderBytes {
		r.Omitted = cmp.Or(r.Omitted, tooLong)
	}
	outcome := q.outcome(r.Status, Outcome(q.outcomeContext.outcome.Swap(outcomeClosed))) //nolint:gosec // closed here only
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
	// The response is valid even if it was not stored.
	q.notStored = q.notStored || outcome != Kept || r.Omitted != "" || err != nil
}
