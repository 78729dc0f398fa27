package interlockkratos

import (
	"context"
	stderrors "errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-kratos/kratos/v2/errors"
	"github.com/go-kratos/kratos/v2/middleware"
	"github.com/go-kratos/kratos/v2/transport"
	khttp "github.com/go-kratos/kratos/v2/transport/http"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// Client returns a middleware for clients, which retries calls without executing them twice.
// Every call gets a key, except calls of operations that are not guarded by default; see
// [KeyedOperations]. A call that has a key in its header keeps it; [WithKey] sets one that
// outlives this process.
//
// A call is retried after a transport error or a 503, and after an error of this package that
// allows a retry with the same key, such as in_progress. Its retry_after_ms is respected.
// [Attempts], [RetryFor] and the deadline of the call bound the retries. kratos gives a call
// a deadline of 2 seconds, unless WithTimeout sets another one. At the end the last error is
// returned. After a try that may have been executed, a 401, 403 or 429 is marked by
// [guard.OutcomeUnknown].
//
// A server that ignores the key executes every try. Use the middleware only for services that
// document the key.
func Client(opts ...ClientOption) middleware.Middleware {
	c := rpc.NewClient(opts)
	return func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, req any) (reply any, err error) {
			tr, ok := transport.FromClientContext(ctx)
			if !ok {
				return nil, errors.InternalServer("set_up", "interlockkratos: Client is not the middleware of a kratos client")
			}
			info := protocol{}.Method(tr.Operation())
			if h, ok := tr.(khttp.Transporter); ok && h.Request().Method != http.MethodPost && h.Request().Method != http.MethodPatch {
				info.Safe = true
			}
			if !c.Keys(tr.Operation(), info) {
				return next(ctx, req)
			}
			set := tr.RequestHeader().Values(rpc.KeyHeader)
			md, _ := metadata.FromOutgoingContext(ctx) // only gRPC sends it
			outgoing := md.Get(rpc.KeyHeader)
			if tr.Kind() != transport.KindGRPC {
				outgoing = nil
			}
			key, err := c.Key(ctx, slices.Concat(set, outgoing))
			if err != nil {
				return nil, err
			}
			if len(outgoing) == 0 {
				tr.RequestHeader().Set(rpc.KeyHeader, key)
			}
			unknown := c.Do(ctx, func() *rpc.Failure {
				reply, err = next(ctx, req)
				if err != nil {
					reopenBody(tr)
				}
				return failureOf(err)
			})
			if unknown {
				err = guard.OutcomeUnknown(err)
			}
			return reply, err
		}
	}
}

// reopenBody lets kratos send the body of an HTTP request again.
func reopenBody(tr transport.Transporter) {
	if h, ok := tr.(khttp.Transporter); ok && h.Request().GetBody != nil {
		h.Request().Body, _ = h.Request().GetBody() // a reader of bytes
	}
}

// failureOf describes an error for the decision about a retry.
func failureOf(err error) *rpc.Failure {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); !ok && !stderrors.As(err, new(*errors.Error)) {
		return &rpc.Failure{Code: rpc.Unavailable} // a transport error of HTTP
	}
	e := errors.FromError(err)
	f := &rpc.Failure{Code: protocol{}.Code(err)}
	if sameKey, ours := e.Metadata["same_key"]; ours {
		f.Reason, f.Retryable, f.SameKey = e.Reason, e.Metadata["retryable"] == "true", sameKey == "true"
		ms, _ := strconv.ParseInt(e.Metadata["retry_after_ms"], 10, 64)
		f.RetryAfter = time.Duration(min(ms, time.Hour.Milliseconds())) * time.Millisecond
	}
	return f
}

// WithKey returns a context whose calls are sent with key. A program that stored the key can
// repeat a call even after a restart. Use one key for one intent. A key has visible ASCII
// characters.
func WithKey(ctx context.Context, key string) context.Context {
	return interlockhttp.WithKey(ctx, key)
}

// NewKey returns a random UUID, which is unique and cannot be guessed. Make one for each intent
// of a user, and store it before the first call.
func NewKey() string { return interlockhttp.NewKey() }

// A ClientOption configures a [Client]. An invalid value panics there.
type ClientOption func(*rpc.Client)

// Attempts bounds the number of tries, including the first. Default: 4.
func Attempts(n int) ClientOption { return func(c *rpc.Client) { c.Attempts = n } }

// RetryFor bounds how long after the first try another one may begin. Default: 30s.
func RetryFor(d time.Duration) ClientOption { return func(c *rpc.Client) { c.RetryFor = d } }

// Backoff sets the pauses between tries. The upper bound starts at minPause, doubles with each
// try and ends at maxPause; each pause is random below it. A pause that the server requests is
// added. Default: 200ms and 5s.
func Backoff(minPause, maxPause time.Duration) ClientOption {
	return func(c *rpc.Client) { c.MinPause, c.MaxPause = minPause, maxPause }
}

// KeyedOperations sets which operations get a key and are retried. Default: those that are
// guarded by default.
func KeyedOperations(names ...string) ClientOption {
	return func(c *rpc.Client) {
		c.Methods = make(map[string]bool)
		for _, name := range names {
			c.Methods[name] = true
		}
	}
}
