// Package interlockgrpc makes gRPC methods run once per key, one at a time, or at most n times
// in a window. It has the functions of package interlockhttp, with the same words and defaults.
//
//	orders, err := interlockgrpc.Once(client, guard.Policy{Name: "order"}, interlockgrpc.User(signedIn))
//	…
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(authenticate, orders.Unary))
//
// A client sends a key in the metadata idempotency-key, and repeats a call with the same key;
// see [UnaryClientInterceptor].
//
// # Guarded methods
//
// [Once] and [Submit] guard unary methods. They leave out methods whose descriptor says
// idempotency_level = NO_SIDE_EFFECTS, and the services of health checks and reflection;
// [Methods] lists others. A stream cannot be replayed: Once and Submit have no interceptor for
// streams, and refuse a streaming method in Methods. [Lock] and [Limit] work for all methods.
//
// # Errors
//
// A refused call gets a status with an ErrorInfo. Its domain is "interlock", and its reason is
// a code of package interlockhttp, such as in_progress. Its metadata retryable says whether a
// retry may succeed, and same_key whether the retry must use the same key. If a retry may
// succeed, a RetryInfo says when. The page docs/grpc.md lists the statuses.
package interlockgrpc
