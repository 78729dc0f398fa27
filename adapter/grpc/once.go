package interlockgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// A Guard guards the unary methods of a server. It is safe for concurrent use; make one for
// each kind of operation.
type Guard struct{ middleware *rpc.Middleware }

// A Reply is a stored reply: the message or the error, and the header and the trailer that the
// handler has set. A [guard.Resolver] returns one with its Message.
type Reply = rpc.Reply

// Once returns a guard that replays the first reply to a call that is repeated with the same
// key, with its header and trailer. The header then has idempotent-replayed. The policy's
// After must be [guard.Keep], the default.
//
// A successful reply is kept. After INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS,
// FAILED_PRECONDITION, OUT_OF_RANGE and UNIMPLEMENTED nothing was done, so the next call runs;
// with the policy's OnError [guard.Keep] the error is kept as well. PERMISSION_DENIED,
// UNAUTHENTICATED and RESOURCE_EXHAUSTED are never kept: they free the key.
//
// A panic, CANCELED, DEADLINE_EXCEEDED and UNAVAILABLE leave the outcome unknown, and the
// policy's OnUnknown decides. Handlers often return the error of another service unchanged,
// and that service may have executed the call. For the same reason RESOURCE_EXHAUSTED leaves
// the outcome unknown if a reply was too large for grpc, and so does a refusal of another
// guard that does not know its outcome. UNKNOWN, INTERNAL, ABORTED and DATA_LOSS are kept;
// with OnUnknown [guard.Resolve] or [guard.Rerun] they are unknown outcomes, too. A handler overrides these rules with [Settle], with [guard.NotExecuted] or
// with [guard.OutcomeUnknown]. The option [NotExecutedOn] adds codes that free the key.
//
// A guarded handler is not canceled when its client cancels the call or its deadline passes:
// the context of the handler has no deadline. It ends when the claim is lost or after the
// policy's MaxHold. An unguarded handler runs as without the guard.
func Once(client *interlock.Client, p guard.Policy, opts ...Option) (*Guard, error) {
	return newGuard(rpc.Once(client, p, rpc.NewSettings("interlockgrpc", opts), protocol{}))
}

// Submit returns a guard that refuses repeats: while the first call runs and, if the policy's
// After is [guard.Window], until the window ends. Unless [Key] is set, two calls with the same
// message are duplicates.
//
// A panic, or an error that leaves the outcome unknown, lets the policy's OnUnknown decide.
// Its default here is [guard.Rerun].
func Submit(client *interlock.Client, p guard.Policy, opts ...Option) (*Guard, error) {
	return newGuard(rpc.Submit(client, p, rpc.NewSettings("interlockgrpc", opts), protocol{}))
}

func newGuard(m *rpc.Middleware, err error) (*Guard, error) {
	if err != nil {
		return nil, err
	}
	return &Guard{m}, nil
}

// Must returns v, or panics if err is not nil. It is for interceptors made at start-up.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Unary is a [grpc.UnaryServerInterceptor]. Put it behind the interceptor that authenticates
// the user.
func (g *Guard) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return serveUnary(ctx, g.middleware, req, info, handler)
}

// Guard returns the guard behind the interceptor, to look up keys and settle unknown outcomes.
func (g *Guard) Guard() *guard.Guard[*Reply] { return g.middleware.Guard() }

// Close refuses new calls, and waits until the running ones are settled or ctx is done. Call
// it after the server's GracefulStop and before the client's Close.
func (g *Guard) Close(ctx context.Context) error { return g.Guard().Close(ctx) }

// An Outcome is what a handler did, if its status does not say it.
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

// serveUnary answers a unary call.
func serveUnary(ctx context.Context, m *rpc.Middleware, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	c := newCall(ctx, info.FullMethod, req)
	if !m.Applies(ctx, c) {
		return handler(ctx, req)
	}
	r := m.Do(ctx, c, func(ctx context.Context) *rpc.Reply {
		if !m.Keeps() {
			message, err := handler(ctx, req)
			return &rpc.Reply{Message: message, Err: err}
		}
		t := newTransport(ctx)
		message, err := handler(grpc.NewContextWithServerTransportStream(ctx, t), req)
		header, trailer := t.end()
		return &rpc.Reply{Message: message, Err: err, Header: header, Trailer: trailer}
	})
	_ = grpc.SetHeader(ctx, r.Header) // fails if the handler has sent it, or the client has gone
	_ = grpc.SetTrailer(ctx, r.Trailer)
	return r.Message, convert(r.Err)
}

func newCall(ctx context.Context, method string, req any) *rpc.Call {
	md, _ := metadata.FromIncomingContext(ctx)
	return &rpc.Call{
		Method: method, Request: req, Safe: protocol{}.Method(method).Safe, Header: md.Get,
		SetHeader: func(name, value string) { _ = grpc.SetHeader(ctx, metadata.Pairs(name, value)) },
	}
}
