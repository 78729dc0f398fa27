package interlockconnect

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlockhttp"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// ClientInterceptor retries calls without executing them twice. Every call of a unary
// procedure gets a key, except those without side effects; see [KeyedProcedures]. A call that
// has a key in its header keeps it; [WithKey] sets one that outlives this process.
//
//	orders := shopconnect.NewOrdersClient(http.DefaultClient, url, connect.WithInterceptors(interlockconnect.ClientInterceptor()))
//
// A call is retried after CodeUnavailable, and after an error of this package that allows a
// retry with the same key, such as in_progress. A RetryInfo is respected. [Attempts], [RetryFor]
// and the deadline of the call bound the retries. At the end the last error is returned. After a
// try that may have been executed, CodeUnauthenticated, CodePermissionDenied and
// CodeResourceExhausted are marked by [guard.OutcomeUnknown].
//
// A server that ignores the key executes every try. Use the interceptor only for services that
// document the key.
func ClientInterceptor(opts ...ClientOption) connect.Interceptor {
	c := rpc.NewClient(opts)
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (resp connect.AnyResponse, err error) {
			spec := req.Spec()
			info := protocol{}.Method(spec.Procedure)
			info.Safe = info.Safe || spec.IdempotencyLevel == connect.IdempotencyNoSideEffects
			switch {
			case !spec.IsClient:
				return nil, connect.NewError(connect.CodeInternal, errors.New("interlockconnect: ClientInterceptor is not an interceptor for handlers"))
			case !c.Keys(spec.Procedure, info):
				return next(ctx, req)
			}
			header := req.Header().Values(rpc.KeyHeader)
			key, err := c.Key(ctx, header)
			if err != nil {
				return nil, err
			}
			if len(header) == 0 {
				defer req.Header().Del(rpc.KeyHeader) // the caller may use the request for another call
			}
			req.Header().Set(rpc.KeyHeader, key)
			unknown := c.Do(ctx, func() *rpc.Failure {
				resp, err = next(ctx, req)
				return failureOf(err)
			})
			if unknown {
				err = guard.OutcomeUnknown(err)
			}
			return resp, err
		}
	})
}

// failureOf describes an error for the decision about a retry.
func failureOf(err error) *rpc.Failure {
	if err == nil {
		return nil
	}
	f := &rpc.Failure{Code: rpc.Code(connect.CodeOf(err))}
	var e *connect.Error
	if !errors.As(err, &e) {
		return f
	}
	for _, d := range e.Details() {
		switch value, _ := d.Value(); d := value.(type) {
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

// A ClientOption configures a [ClientInterceptor]. An invalid value panics there.
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

// KeyedProcedures sets which procedures get a key and are retried. Default: every unary procedure,
// except those without side effects.
func KeyedProcedures(names ...string) ClientOption {
	return func(c *rpc.Client) {
		c.Methods = make(map[string]bool)
		for _, name := range names {
			c.Methods[name] = true
		}
	}
}
