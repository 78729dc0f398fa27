package rpc

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
)

// A Code is a gRPC status code. The codes of Connect have the same numbers.
type Code uint32

// The codes.
const (
	OK Code = iota
	Canceled
	Unknown
	InvalidArgument
	DeadlineExceeded
	NotFound
	AlreadyExists
	PermissionDenied
	ResourceExhausted
	FailedPrecondition
	Aborted
	OutOfRange
	Unimplemented
	Internal
	Unavailable
	DataLoss
	Unauthenticated
)

// An Outcome is what a handler did, if its error does not say it.
type Outcome = interlockhttp.Outcome

// outcomeClosed replaces the outcome once the handler has returned.
const outcomeClosed = 1 << 8

// A scope is the context of a handler. Settle stores the outcome in it.
type scope struct {
	context.Context
	owner   *Middleware
	outer   *scope
	outcome atomic.Uint32 // an Outcome, or outcomeClosed
}

type scopeKey struct{}

// Value returns the scope itself for this package's own key.
func (s *scope) Value(key any) any {
	if _, ok := key.(scopeKey); ok {
		return s
	}
	return s.Context.Value(key)
}

func newScope(ctx context.Context, m *Middleware) *scope {
	outer, _ := ctx.Value(scopeKey{}).(*scope)
	return &scope{Context: ctx, owner: m, outer: outer}
}

// end returns the outcome that the handler has set, and refuses later ones.
func (s *scope) end() Outcome { return Outcome(s.outcome.Swap(outcomeClosed)) } //nolint:gosec // closed here only

// within reports whether this middleware is already around the call, because it is twice in
// one chain.
func (m *Middleware) within(ctx context.Context) bool {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	for ; s != nil; s = s.outer {
		if s.owner == m {
			return true
		}
	}
	return false
}

// Settle sets the outcome of the call that ctx belongs to: for the innermost guard, and for
// all limits, which give their units back if the outcome is NotExecuted. It reports false if
// there is neither, or if the handler has returned.
func Settle(ctx context.Context, o Outcome) (set bool) {
	guarded := false
	s, _ := ctx.Value(scopeKey{}).(*scope)
	for ; s != nil; s = s.outer {
		isGuard := s.owner.guard != nil
		if s.owner.limits || isGuard && !guarded {
			set = s.set(o) || set
		}
		guarded = guarded || isGuard
	}
	return set
}

func (s *scope) set(o Outcome) bool {
	for {
		switch current := s.outcome.Load(); {
		case current == outcomeClosed:
			return false
		case s.outcome.CompareAndSwap(current, uint32(o)):
			return true
		}
	}
}

// dependsOnCaller lists the codes of refusals that another sender would not get, or a later
// call.
var dependsOnCaller = map[Code]bool{PermissionDenied: true, ResourceExhausted: true, Unauthenticated: true}

// outcome returns the outcome of a call: Kept, Private, NotExecuted or Unknown. declared is
// the one that the handler has set.
func (m *Middleware) outcome(err error, declared Outcome) Outcome {
	code := OK
	if err != nil {
		code = m.protocol.Code(err)
	}
	outcome := cmp.Or(declared, m.errorOutcome(err, code)) // zero means that the handler has set none
	switch {
	case outcome != interlockhttp.Failed:
		return outcome
	case dependsOnCaller[code], m.policy.OnError != guard.Keep:
		return interlockhttp.NotExecuted
	}
	return interlockhttp.Kept
}

// errorOutcome returns the outcome that an error implies. Marks and NotExecutedOn decide
// first, then guard's classification, then the code. A handler may return the error of another
// service, such as UNAVAILABLE, which does not say whether that service executed the call.
func (m *Middleware) errorOutcome(err error, code Code) Outcome {
	var inner *Problem
	switch {
	case err == nil:
		return interlockhttp.Kept
	case errors.As(err, &inner): // refused by an inner lock, limit or guard
		return interlockhttp.NotExecuted
	case errors.Is(err, guard.ErrUnknown): // the handler says so
		return interlockhttp.Unknown
	case m.settings.notExecuted[code]:
		return interlockhttp.NotExecuted
	}
	switch m.guard.Classify(err) {
	case guard.ClassNotSent:
		return interlockhttp.NotExecuted
	case guard.ClassUnknown:
		return interlockhttp.Unknown
	}
	if m.protocol.Uncertain(err) {
		return interlockhttp.Unknown
	}
	switch code {
	case InvalidArgument, NotFound, AlreadyExists, PermissionDenied, ResourceExhausted, FailedPrecondition, OutOfRange, Unimplemented, Unauthenticated:
		return interlockhttp.Failed
	case Canceled, DeadlineExceeded, Unavailable:
		return interlockhttp.Unknown
	}
	// UNKNOWN, INTERNAL, ABORTED and DATA_LOSS: the handler may have done a part of its work. If
	// an unknown outcome would be held, keep the error instead: it tells a client more.
	if m.Keeps() && m.policy.OnUnknown == guard.Hold {
		return interlockhttp.Kept
	}
	return interlockhttp.Unknown
}

// Uncertain reports whether an error comes from another service that may have executed the
// call, although its code alone does not say so. reason is that of an ErrorInfo of our domain;
// "" for other errors.
func Uncertain(code Code, message, reason string) bool {
	switch interlockhttp.Code(reason) {
	case interlockhttp.InProgress, interlockhttp.OutcomeUnknown, interlockhttp.ResultUnavailable, interlockhttp.RecordCorrupt:
		return true
	}
	// The other service has sent a reply, which is too large to be received. The texts are
	// those of grpc and of connect.
	return code == ResourceExhausted && (strings.Contains(message, "larger than max") || strings.Contains(message, "larger than configured max"))
}
