// Package interlockkratos makes the operations of a kratos service run once per key, one at a
// time, or at most n times in a window, over HTTP and gRPC. It has the functions of package
// interlockhttp, with the same words and defaults.
//
//	orders, err := interlockkratos.Once(client, guard.Policy{Name: "order"}, interlockkratos.User(signedIn))
//	…
//	http.NewServer(http.Middleware(jwt.Server(keys), orders.Server))
//	grpc.NewServer(grpc.Middleware(jwt.Server(keys), orders.Server))
//
// A client sends a key in the header Idempotency-Key, and repeats a call with the same key; see
// [Client].
//
// # Guarded operations
//
// [Once] and [Submit] guard every operation, except over HTTP those with a method other than
// POST and PATCH, and over both transports those whose descriptor says
// idempotency_level = NO_SIDE_EFFECTS. [Operations] lists others. The request and the reply
// are Protocol Buffers messages. kratos calls a middleware for each message of a stream, so
// calls of streaming methods are refused: use package interlockgrpc for them.
//
// # Errors
//
// A refused call gets an error of kratos. Its reason is a code of package interlockhttp, such as
// in_progress. Over HTTP its code is the status of that problem; over gRPC it is the status of
// package interlockgrpc. Its metadata retryable says whether a retry may succeed, same_key
// whether the retry must use the same key, and retry_after_ms when.
package interlockkratos
