package interlockgrpc

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// UnaryClientInterceptor retries calls without executing them twice. Every call of a unary
// method gets a key, except methods without side effects; see [KeyedMethods]. A call that has a
// key in its metadata keeps it; [WithKey] sets one that outlives this process.
//
//	conn, err := grpc.NewClient(target, grpc.WithUnaryInterceptor(interlockgrpc.UnaryClientInterceptor()))
//
// A call is retried after UNAVAILABLE, and after an error of this package that allows a retry
// with the same key, such as in_progress. A RetryInfo is respected. [Attempts], [RetryFor] and
// the deadline of the call bound the retries. At the end the last error is returned. After a try
// that may have been executed, UNAUTHENTICATED, PERMISSION_DENIED and RESOURCE_EXHAUSTED are
// marked by [guard.OutcomeUnknown].
//
// The retries of a grpc service config send the same key, too.
//
// A server that ignores the key executes every try. Use the interceptor only for services that
// document the key.
func UnaryClientInterceptor(opts ...ClientOption) grpc.UnaryClientInterceptor {
	c := rpc.NewClient(opts)
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, callOpts ...grpc.CallOption) error {
		if !c.Keys(method, protocol{}.Method(method)) {
			return invoke(ctx, method, req, reply, conn, callOpts...)
		}
		md, _ := metadata.FromOutgoingContext(ctx)
		header := md.Get(rpc.KeyHeader)
		key, err := c.Key(ctx, header)
		if err != nil {
			return err
		}
		if len(header) == 0 {
			ctx = metadata.AppendToOutgoingContext(ctx, rpc.KeyHeader, key)
		}
		unknown := c.Do(ctx, func() *rpc.Failure {
			err = invoke(ctx, method, req, reply, conn, callOpts...)
			return failureOf(err)
		})
		if unknown {
			err = guard.OutcomeUnknown(err)
		}
		return err
	}
}

// failureOf describes an error for the decision about a retry.
func failureOf(err error) *rpc.Failure {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	f := &rpc.Failure{Code: rpc.Code(s.Code())}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == rpc.Domain {
				f.Reason, f.Retryable, f.SameKey = d.GetReason(), d.GetMetadata()["retryable"] == "true", d.GetMetadata()["same_key"] == "true"
			}
		case *errdetails.RetryInfo:
			f.RetryAfter = d.GetRetryDelay().AsDuration()
		}
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

// A ClientOption configures a [UnaryClientInterceptor]. An invalid value panics there.
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

// KeyedMethods sets which methods get a key and are retried. Default: every unary method,
// except those without side effects.
func KeyedMethods(names ...string) ClientOption {
	return func(c *rpc.Client) {
		c.Methods = make(map[string]bool)
		for _, name := range names {
			c.Methods[name] = true
		}
	}
}
