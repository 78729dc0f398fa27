// Package interlockhttp makes HTTP requests happen once, and one at a time.
//
// [Once] replays the first response to a request that is repeated with the same
// Idempotency-Key. [Submit] refuses a request that is repeated too soon. [Lock] runs
// one request at a time. All three are ordinary middleware for the standard mux and
// any compatible router:
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhttp.User(signedIn))
//	…
//	mux.Handle("POST /orders", orders.Wrap(http.HandlerFunc(placeOrder)))
//
// [Transport] is the client's side: it sends one key for each intent, and retries with
// that key when a retry is safe.
//
// Put the middleware behind authentication, rate limits, CORS and compression, next to
// the handler. It stores only what the handler writes, so the outer middleware still
// runs for every request.
//
// Responses carry these header fields: Idempotency-Key repeats the key of the request.
// Idempotent-Replayed is true for a replay. Idempotency-Stored is false if a repeat does
// not get this response. Idempotency-Expires is how many seconds a response is kept
// after it was stored. Interlock-Unguarded is true if the engine was down and the policy
// let the request run. Handlers find the fence of their claim with [guard.Fence].
//
// The package does not promise that a handler completes: its process may be killed, and
// [guard.Policy.OnUnknown] decides what happens to such a request. Nor does it promise
// that the client receives the response; a repeat receives the same one.
package interlockhttp
