package interlockconnect

import (
	"context"

	"connectrpc.com/connect"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// An Option configures an interceptor, besides its policy.
type Option func(*rpc.Settings)

// User sets the function that returns the authenticated user of a call. The function must not
// trust what the client claims. Keys belong to a user: two users may use the same key. A call
// with an empty user is refused. Required, unless the policy's scope is [guard.Global].
func User(of func(context.Context) string) Option { return func(s *rpc.Settings) { s.User = of } }

// Key sets where the key of a call is found. Default: [Header] with Idempotency-Key for
// Once, [Content] for Submit.
func Key(source Source) Option { return func(s *rpc.Settings) { s.SetKey(source) } }

// Procedures sets which procedures are guarded, such as "/shop.Orders/Create" or the constants
// of the generated code; others pass. Default: for Once and Submit every unary procedure, except
// those without side effects; all procedures for [Lock] and [Limit].
func Procedures(names ...string) Option { return func(s *rpc.Settings) { s.SetMethods(names) } }

// Optional lets calls without a key pass unguarded. Default: they are refused.
func Optional() Option { return func(s *rpc.Settings) { s.Optional = true } }

// MinKey sets the minimum length of a key, in bytes. Default: 1, or 16 for keys in the
// header if the policy's scope is [guard.Global], so that one client cannot guess another's
// key.
func MinKey(n int) Option { return func(s *rpc.Settings) { s.SetMinKey(n) } }

// MaxReply bounds the message of a stored reply, in bytes. For a larger one the record only
// says that the call was done. Default: 1 MiB.
func MaxReply(n int) Option { return func(s *rpc.Settings) { s.SetMaxReply(n) } }

// NotExecutedOn lists codes by which the handler says that it did nothing: they free the key.
// It adds to CodePermissionDenied, CodeUnauthenticated and CodeResourceExhausted, and overrules
// the policy's OnError.
//
// If the handler returns errors of other services unchanged, do not list CodeUnavailable: such an error
// does not say that the other service did nothing.
func NotExecutedOn(codes ...connect.Code) Option {
	return func(s *rpc.Settings) {
		numbers := make([]rpc.Code, len(codes))
		for i, c := range codes {
			numbers[i] = rpc.Code(c)
		}
		s.SetNotExecuted(numbers)
	}
}

// Fingerprint sets which content of a message must be equal when a key is reused, for messages
// with a field that differs between two tries, such as a time. Default: the whole message. If a
// release changes the function, repeats of earlier calls count as mismatches.
func Fingerprint(of func(message any) []byte) Option {
	return func(s *rpc.Settings) { s.SetFingerprint(of) }
}

// FingerprintHeaders sets the header fields that distinguish calls with one key: the same key with
// another value is refused. Default: fields that name an account, such as X-Tenant-Id; see
// interlockhttp.DefaultFingerprintHeaders. Called without names, it ignores all fields.
func FingerprintHeaders(names ...string) Option {
	return func(s *rpc.Settings) { s.SetTenants(names) }
}

// OnKey sets a function that gets the key of each call before it is claimed. With
// [guard.StoredKey], a log can name the record.
func OnKey(f func(context.Context, guard.Key)) Option { return func(s *rpc.Settings) { s.OnKey = f } }

// Guarding passes options on to the guard.
func Guarding(opts ...guard.Option) Option {
	return func(s *rpc.Settings) { s.Guarding = append(s.Guarding, opts...) }
}

// Locking passes options on to the locks of [Lock].
func Locking(opts ...interlock.Option) Option {
	return func(s *rpc.Settings) { s.Locking = append(s.Locking, opts...) }
}

// A Source finds the key of a call. The zero value finds nothing and is refused.
type Source = rpc.Source

// Header finds the key in a field of the header. A call with two keys is refused.
func Header(name string) Source { return rpc.Header(name) }

// Content uses the message as its key: equal calls are duplicates. It is the default of
// Submit.
func Content() Source { return rpc.Content() }

// By finds the key in the message of a unary call:
//
//	interlockconnect.By((*shop.PayRequest).GetOrderId)
//
// An empty string means that the call has no key. A call with a message of another type is
// refused; see [Procedures].
func By[T any](id func(T) string) Source { return rpc.By(id) }

// Func finds the key with a function. The message is nil for a stream. An empty string means
// that the call has no key.
func Func(find func(ctx context.Context, message any) (string, error)) Source { return rpc.Func(find) }
