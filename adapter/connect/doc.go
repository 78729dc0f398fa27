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
// A call that the handler does not answer gets a *connect.Error with an ErrorInfo, whose domain
// is "interlock" and whose reason is a code of package interlockhttp, such as in_progress. The
// metadata of the ErrorInfo says whether a retry may succeed, and whether it must use the same
// key: retryable and same_key. If a retry may succeed, a RetryInfo says when. The page
// docs/grpc.md lists the codes.
package interlockconnect
