package interlockconnect

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// A Guard is a [connect.Interceptor] that guards the unary procedures of a handler. It is safe
// for concurrent use; make one for each kind of operation. Put it behind the interceptor that
// authenticates the user.
type Guard struct{ interceptor }

// A Reply is a stored reply: the message or the error, and the header and the trailer that the
// handler has set. A [guard.Resolver] returns one with its Message.
type Reply = rpc.Reply

// Once returns a guard that replays the first reply to a call that is repeated with the same
// key, with its header and trailer. The header then has Idempotent-Replayed. The policy's After
// must be [guard.Keep], the default.
//
// A successful reply is kept. After CodeInvalidArgument, CodeNotFound, CodeAlreadyExists,
// CodeFailedPrecondition, CodeOutOfRange and CodeUnimplemented nothing was done, so the next
// call runs; with the policy's OnError [guard.Keep] the error is kept as well.
// CodePermissionDenied, CodeUnauthenticated and CodeResourceExhausted are never kept: they free
// the key.
//
// A panic, CodeCanceled, CodeDeadlineExceeded and CodeUnavailable leave the outcome unknown, and
// the policy's OnUnknown decides. Handlers often return the error of another service unchanged,
// and that service may have executed the call. For the same reason CodeResourceExhausted leaves
// the outcome unknown if a reply was too large for connect, and so does a refusal of another
// guard that does not know its outcome. CodeUnknown, CodeInternal, CodeAborted and CodeDataLoss
// are kept; with OnUnknown [guard.Resolve] or [guard.Rerun] they are unknown outcomes, too. A handler overrides these rules with [Settle], with
// [guard.NotExecuted] or with [guard.OutcomeUnknown]. The option [NotExecutedOn] adds codes that
// free the key.
//
// A guarded handler is not canceled when its client cancels the call or its deadline passes:
// the context of the handler has no deadline. It ends when the claim is lost or after the
// policy's MaxHold. An unguarded handler runs as without the guard.
func Once(client *interlock.Client, p guard.Policy, opts ...Option) (*Guard, error) {
	return newGuard(rpc.Once(client, p, rpc.NewSettings("interlockconnect", opts), protocol{}))
}

// Submit returns a guard that refuses repeats: while the first call runs and, if the policy's
// After is [guard.Window], until the window ends. Unless [Key] is set, two calls with the same
// message are duplicates.
//
// A panic, or an error that leaves the outcome unknown, lets the policy's OnUnknown decide.
// Its default here is [guard.Rerun].
func Submit(client *interlock.Client, p guard.Policy, opts ...Option) (*Guard, error) {
	return newGuard(rpc.Submit(client, p, rpc.NewSettings("interlockconnect", opts), protocol{}))
}

func newGuard(m *rpc.Middleware, err error) (*Guard, error) {
	if err != nil {
		return nil, err
	}
	return &Guard{interceptor{m}}, nil
}

// Guard returns the guard behind the interceptor, to look up keys and settle unknown outcomes.
func (g *Guard) Guard() *guard.Guard[*Reply] { return g.middleware.Guard() }

// Close refuses new calls, and waits until the running ones are settled or ctx is done. Call
// it after the server's Shutdown and before the client's Close.
func (g *Guard) Close(ctx context.Context) error { return g.Guard().Close(ctx) }

// Lock returns an interceptor that runs one call per key at a time. Other calls wait for up to
// 10 seconds, or for the time set by interlock.Wait in [Locking], and are then refused with
// CodeAborted. The lock's key consists of name and the key that source finds.
//
//	pay, err := interlockconnect.Lock(client, "pay", interlockconnect.By((*shop.PayRequest).GetOrderId),
//		interlockconnect.Procedures("/shop.Orders/Pay"))
//
// A call without a key is refused. If the lock is lost, the handler's context is canceled. The
// lock of a stream is held until its handler returns.
func Lock(client *interlock.Client, name string, source Source, opts ...Option) (connect.Interceptor, error) {
	return newInterceptor(rpc.Lock(client, name, source, rpc.NewSettings("interlockconnect", opts), protocol{}))
}

// Limit returns an interceptor that runs at most n calls per key in each window, and refuses
// the others with CodeResourceExhausted and a RetryInfo. The quota's key consists of name and
// the key that source finds. The header of every reply says how many units are left: RateLimit
// and RateLimit-Policy.
//
// A call without a key is refused. So is every call while the engine is down, with
// CodeUnavailable. A call takes its unit whether it succeeds or fails. A handler that has done
// nothing gives the unit back with [Settle] and [NotExecuted]; so does an inner interceptor
// that refuses the call. Put the limit inside of [Once], so that a replayed reply takes no
// unit.
func Limit(client *interlock.Client, name string, n int, w interlock.Window, source Source, opts ...Option) (connect.Interceptor, error) {
	return newInterceptor(rpc.Limit(client, name, n, w, source, rpc.NewSettings("interlockconnect", opts), protocol{}))
}

func newInterceptor(m *rpc.Middleware, err error) (connect.Interceptor, error) {
	if err != nil {
		return nil, err
	}
	return interceptor{m}, nil
}

// Must returns v, or panics if err is not nil. It is for interceptors made at start-up.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An Outcome is what a handler did, if its error does not say it.
type Outcome = interlockhttp.Outcome

// The outcomes.
const (
	Kept        = interlockhttp.Kept        // done: keep the reply or the error
	Private     = interlockhttp.Private     // done: do not keep the reply, since it is only for this caller
	NotExecuted = interlockhttp.NotExecuted // not done: the next call runs
	Unknown     = interlockhttp.Unknown     // unknown: the policy's OnUnknown decides
	Failed      = interlockhttp.Failed      // failed without any effect: the policy's OnError decides
)

// Settle sets the outcome of the call that ctx belongs to, whatever the handler returns. The
// last call decides. With nested guards, it sets the outcome of the innermost one. Every
// [Limit] around the handler gives its unit back if the outcome is [NotExecuted]. Settle
// reports false if ctx belongs to no guarded or limited call, or if the handler has returned.
func Settle(ctx context.Context, o Outcome) bool { return rpc.Settle(ctx, o) }

// An interceptor is the interceptor of a handler.
type interceptor struct{ middleware *rpc.Middleware }

var errClient = connect.NewError(connect.CodeInternal, errors.New("interlockconnect: not an interceptor for clients; use ClientInterceptor"))

// WrapUnary implements [connect.Interceptor].
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	m := i.middleware
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		spec := req.Spec()
		if spec.IsClient {
			return nil, errClient
		}
		sent := sentBy(ctx)
		c := &rpc.Call{
			Method: spec.Procedure, Request: req.Any(), Header: req.Header().Values, SetHeader: sent.header.Set,
			Safe: spec.IdempotencyLevel == connect.IdempotencyNoSideEffects || protocol{}.Method(spec.Procedure).Safe,
		}
		if !m.Applies(ctx, c) {
			return next(ctx, req)
		}
		var resp connect.AnyResponse // the handler's own
		called := false
		r := m.Do(ctx, c, func(ctx context.Context) (r *rpc.Reply) {
			called = true
			before := sent.clone()
			var err error
			if resp, err = next(ctx, req); err != nil {
				added := before.added(metaOf(err), sent)
				return &rpc.Reply{Err: err, Header: added.header, Trailer: added.trailer}
			}
			added := before.added(fields{resp.Header(), resp.Trailer()}, sent)
			return &rpc.Reply{Message: resp.Any(), Header: added.header, Trailer: added.trailer}
		})
		switch {
		case r.Err != nil && called:
			return nil, convert(r.Err)
		case r.Err != nil:
			maps.Copy(sent.trailer, r.Trailer)
			return nil, withMeta(convert(r.Err), r.Header)
		case called:
			return resp, nil
		}
		return newResponse(r), nil
	}
}

// WrapStreamingClient implements [connect.Interceptor].
func (i interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements [connect.Interceptor].
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	m := i.middleware
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		c := &rpc.Call{Method: conn.Spec().Procedure, Header: conn.RequestHeader().Values, SetHeader: conn.ResponseHeader().Set}
		if !m.Applies(ctx, c) || m.Guard() != nil && !m.Names(c.Method) {
			return next(ctx, conn)
		}
		return convert(m.Do(ctx, c, func(ctx context.Context) *rpc.Reply { return &rpc.Reply{Err: next(ctx, conn)} }).Err)
	}
}

// fields are the header and the trailer of a response.
type fields struct{ header, trailer http.Header }

// sentBy returns the fields that a handler sets through its context.
func sentBy(ctx context.Context) fields {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		return fields{info.ResponseHeader(), info.ResponseTrailer()}
	}
	return fields{make(http.Header), make(http.Header)} // not called by a handler
}

func (f fields) clone() fields { return fields{f.header.Clone(), f.trailer.Clone()} }

// added returns the fields of the response, and those that are sent now and were not before.
func (f fields) added(response, now fields) fields {
	return fields{addedTo(f.header, response.header, now.header), addedTo(f.trailer, response.trailer, now.trailer)}
}

func addedTo(before, response, now http.Header) http.Header {
	added := make(http.Header)
	for name, values := range now {
		if n := len(before[name]); n <= len(values) && slices.Equal(before[name], values[:n]) {
			values = values[n:]
		}
		if len(values) > 0 {
			added[name] = slices.Clone(values)
		}
	}
	for name, values := range response {
		added[name] = append(added[name], values...)
	}
	return added
}

// A response is a replayed response. connect sends any message that the interface returns.
type response struct {
	connect.AnyResponse
	message any
}

func (r *response) Any() any { return r.message }

func newResponse(r *rpc.Reply) connect.AnyResponse {
	resp := &response{connect.NewResponse(new(struct{})), r.Message}
	maps.Copy(resp.Header(), r.Header)
	maps.Copy(resp.Trailer(), r.Trailer)
	return resp
}
