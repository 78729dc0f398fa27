package interlockkratos

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/transport"
	khttp "github.com/go-kratos/kratos/v2/transport/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// A Guard guards the operations of a service. It is safe for concurrent use; make one for each
// kind of operation.
type Guard struct{ middleware *rpc.Middleware }

// A Reply is a stored reply: the message or the error, and the header that the handler has
// set. A [guard.Resolver] returns one with its Message.
type Reply = rpc.Reply

// Once returns a guard that replays the first reply to a call that is repeated with the same
// key, with the fields that the handler has set in the transport's ReplyHeader. The header then
// has Idempotent-Replayed. The policy's After must be [guard.Keep], the default.
//
// The gRPC code of the handler's error decides what happens to the key, as for
// interlockgrpc.Once: after a 400 or 404 the next call runs, a 409 or 500 is kept, and a 503, a
// 504 or a panic leaves the outcome unknown. A handler overrides these rules with [Settle],
// with [guard.NotExecuted] or with [guard.OutcomeUnknown].
//
// A guarded handler is not canceled when its client disconnects, or by the server's Timeout.
// Its context ends when the claim is lost or after the policy's MaxHold.
func Once(client *interlock.Client, p guard.Policy, opts ...Option) (*Guard, error) {
	return newGuard(rpc.Once(client, p, rpc.NewSettings("interlockkratos", opts), protocol{}))
}

// Submit returns a guard that refuses repeats: while the first call runs and, if the policy's
// After is [guard.Window], until the window ends. Unless [Key] is set, two calls with the same
// message are duplicates.
//
// A panic, or an error that leaves the outcome unknown, lets the policy's OnUnknown decide.
// Its default here is [guard.Rerun].
func Submit(client *interlock.Client, p guard.Policy, opts ...Option) (*Guard, error) {
	return newGuard(rpc.Submit(client, p, rpc.NewSettings("interlockkratos", opts), protocol{}))
}

func newGuard(m *rpc.Middleware, err error) (*Guard, error) {
	if err != nil {
		return nil, err
	}
	return &Guard{m}, nil
}

// Lock returns a middleware that runs one call per key at a time. Other calls wait for up to 10
// seconds, or for the time set by interlock.Wait in [Locking], and are then refused with 423.
// The lock's key consists of name and the key that source finds.
//
//	pay, err := interlockkratos.Lock(client, "pay", interlockkratos.By((*shop.PayRequest).GetOrderId),
//		interlockkratos.Operations("/shop.Orders/Pay"))
//
// A call without a key is refused. If the lock is lost, the handler's context is canceled.
func Lock(client *interlock.Client, name string, source Source, opts ...Option) (middleware.Middleware, error) {
	return newMiddleware(rpc.Lock(client, name, source, rpc.NewSettings("interlockkratos", opts), protocol{}))
}

// Limit returns a middleware that runs at most n calls per key in each window, and refuses the
// others with 429. The quota's key consists of name and the key that source finds. The header
// of every reply says how many units are left: RateLimit and RateLimit-Policy.
//
// A call without a key is refused. So is every call while the engine is down, with 503. A call
// takes its unit whether it succeeds or fails. A handler that has done nothing gives the unit
// back with [Settle] and [NotExecuted]; so does an inner middleware that refuses the call. Put
// the limit inside of [Once], so that a replayed reply takes no unit.
func Limit(client *interlock.Client, name string, n int, w interlock.Window, source Source, opts ...Option) (middleware.Middleware, error) {
	return newMiddleware(rpc.Limit(client, name, n, w, source, rpc.NewSettings("interlockkratos", opts), protocol{}))
}

func newMiddleware(m *rpc.Middleware, err error) (middleware.Middleware, error) {
	if err != nil {
		return nil, err
	}
	return wrap(m), nil
}

// Must returns v, or panics if err is not nil. It is for middleware made at start-up.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Server is a [middleware.Middleware]. Put it behind the middleware that authenticates the
// user.
func (g *Guard) Server(next middleware.Handler) middleware.Handler { return wrap(g.middleware)(next) }

// Guard returns the guard behind the middleware, to look up keys and settle unknown outcomes.
func (g *Guard) Guard() *guard.Guard[*Reply] { return g.middleware.Guard() }

// Close refuses new calls, and waits until the running ones are settled or ctx is done. Call
// it in kratos.AfterStop, before the client's Close.
func (g *Guard) Close(ctx context.Context) error { return g.Guard().Close(ctx) }

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

var errNoTransport = errors.InternalServer("set_up", "interlockkratos: not the middleware of a kratos server; use Client for clients")

// wrap returns the middleware of kratos.
func wrap(m *rpc.Middleware) middleware.Middleware {
	return func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, req any) (any, error) {
			tr, ok := transport.FromServerContext(ctx)
			if !ok {
				return nil, errNoTransport
			}
			info := protocol{}.Method(tr.Operation())
			c := &rpc.Call{Method: tr.Operation(), Request: req, Safe: info.Safe || safeOverHTTP(tr), Header: tr.RequestHeader().Values, SetHeader: tr.ReplyHeader().Set}
			if !info.Known {
				c.Path = pathOf(tr)
			}
			switch {
			case !m.Applies(ctx, c):
				return next(ctx, req)
			case info.Streaming:
				return nil, errors.InternalServer("set_up", "interlockkratos: "+tr.Operation()+" is a stream; use package interlockgrpc for it")
			}
			r := m.Do(ctx, c, func(ctx context.Context) *rpc.Reply {
				before := fieldsOf(tr.ReplyHeader())
				message, err := next(ctx, req)
				return &rpc.Reply{Message: message, Err: err, Header: added(before, fieldsOf(tr.ReplyHeader()))}
			})
			setFields(tr.ReplyHeader(), r.Header)
			return r.Message, convert(tr, r.Err)
		}
	}
}

// safeOverHTTP reports whether a call is not guarded by default, as in package interlockhttp.
func safeOverHTTP(tr transport.Transporter) bool {
	h, ok := tr.(khttp.Transporter)
	return ok && h.Request().Method != http.MethodPost && h.Request().Method != http.MethodPatch
}

// pathOf returns the path and the query of a call over HTTP. The message of a handler that
// was not generated may lack the variables of the path.
func pathOf(tr transport.Transporter) string {
	h, ok := tr.(khttp.Transporter)
	if !ok {
		return ""
	}
	return h.Request().Method + " " + h.Request().URL.EscapedPath() + "?" + h.Request().URL.Query().Encode()
}

func fieldsOf(h transport.Header) map[string][]string {
	fields := make(map[string][]string)
	for _, name := range h.Keys() {
		fields[name] = slices.Clone(h.Values(name))
	}
	return fields
}

// added returns the fields that differ from those before.
func added(before, after map[string][]string) map[string][]string {
	maps.DeleteFunc(after, func(name string, values []string) bool { return slices.Equal(before[name], values) })
	return after
}

func setFields(h transport.Header, fields map[string][]string) {
	for name, values := range fields {
		for i, value := range values {
			if i == 0 {
				h.Set(name, value)
			} else {
				h.Add(name, value)
			}
		}
	}
}
