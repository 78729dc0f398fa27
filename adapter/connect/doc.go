// Package interlockconnect makes the procedures of a Connect service run once per key, one at a
// time, or at most n times in a window, over the Connect, gRPC and gRPC-Web protocols. It has
// the functions of package interlockhttp, with the same words and defaults.
//
//	orders, err := interlockconnect.Once(client, guard.Policy{Name: "order"}, interlockconnect.User(signedIn))
//	…
//	mux.Handle(shopconnect.NewOrdersHandler(shop, connect.WithInterceptors(orders)))
//
// A client sends a key in the header Idempotency-Key, and repeats a call with the same key; see
// [ClientInterceptor].
//
// # Guarded procedures
//
// [Once] and [Submit] guard unary procedures. They leave out those with idempotency_level =
// NO_SIDE_EFFECTS, and the services of health checks and reflection; [Procedures] lists others.
// A stream cannot be replayed: Once and Submit leave streams alone, and refuse one that
// Procedures names. [Lock] and [Limit] work for all procedures.
//
// # Errors
//
// A refused call gets a *connect.Error with an ErrorInfo. Its domain is "interlock", and its
// reason is a code of package interlockhttp, such as in_progress. Its metadata retryable says
// whether a retry may succeed, and same_key whether the retry must use the same key. If a retry
// may succeed, a RetryInfo says when. The page docs/grpc.md lists the codes.
package interlockconnect
