package interlockgrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/adapter/rpc"
)

// Interceptors are for the unary and the streaming methods of a server.
type Interceptors struct {
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor
}

// Lock returns interceptors that run one call per key at a time. Other calls wait for up to 10
// seconds, or for the time set by interlock.Wait in [Locking], and are then refused with
// ABORTED. The lock's key consists of name and the key that source finds.
//
//	pay, err := interlockgrpc.Lock(client, "pay", interlockgrpc.By((*shop.PayRequest).GetOrderId),
//		interlockgrpc.Methods("/shop.Orders/Pay"))
//
// A call without a key is refused. If the lock is lost, the handler's context is canceled. The
// lock of a stream is held until its handler returns.
func Lock(client *interlock.Client, name string, source Source, opts ...Option) (Interceptors, error) {
	return newInterceptors(rpc.Lock(client, name, source, rpc.NewSettings("interlockgrpc", opts), protocol{}))
}

// Limit returns interceptors that run at most n calls per key in each window, and refuse the
// others with RESOURCE_EXHAUSTED and a RetryInfo. The quota's key consists of name and the key
// that source finds. The header of every reply says how many units are left: ratelimit and
// ratelimit-policy.
//
// A call without a key is refused. So is every call while the engine is down, with
// UNAVAILABLE. A call takes its unit whether it succeeds or fails. A handler that has done
// nothing gives the unit back with [Settle] and [NotExecuted]; so does an inner interceptor
// that refuses the call. Put the limit inside of [Once], so that a replayed reply takes no
// unit.
func Limit(client *interlock.Client, name string, n int, w interlock.Window, source Source, opts ...Option) (Interceptors, error) {
	return newInterceptors(rpc.Limit(client, name, n, w, source, rpc.NewSettings("interlockgrpc", opts), protocol{}))
}

func newInterceptors(m *rpc.Middleware, err error) (Interceptors, error) {
	if err != nil {
		return Interceptors{}, err
	}
	unary := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return serveUnary(ctx, m, req, info, handler)
	}
	stream := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		c := newCall(ss.Context(), info.FullMethod, nil)
		if !m.Applies(ss.Context(), c) {
			return handler(srv, ss)
		}
		r := m.Do(ss.Context(), c, func(ctx context.Context) *rpc.Reply {
			return &rpc.Reply{Err: handler(srv, &serverStream{ss, ctx})}
		})
		return convert(r.Err)
	}
	return Interceptors{unary, stream}, nil
}

// A serverStream has the context of a lock or a limit.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *serverStream) Context() context.Context { return s.ctx }
