// Package interlockhttp makes HTTP requests happen once, and one at a time.
//
// [Once] answers a request that comes again, with the same Idempotency-Key, with
// the answer to the first. [Submit] refuses one that comes again too soon. [Lock]
// lets one request at a time do something. All three are middleware of the usual
// shape, for the standard mux and for any router that takes it:
//
//	orders, err := interlockhttp.Once(client, guard.Charge("orders"), interlockhttp.User(signedIn))
//	…
//	mux.Handle("POST /orders", orders.Wrap(http.HandlerFunc(placeOrder)))
//
// [Transport] is the other side: a client that sends one key for each intent, and
// retries with it when that is safe.
//
// Put the middleware behind authentication, rate limits, CORS and compression, next
// to the handler: what it stores is what the handler said, and what the others say
// is for each request anew.
//
// Beside what the handler says, an answer has fields of ours: Idempotency-Key is the
// key, as it came; Idempotent-Replayed is true if the answer is that to an earlier
// request; Idempotency-Stored is false if who repeats the request does not get this
// answer; Idempotency-Expires is for how many seconds an answer is kept, from when it
// was stored; and Interlock-Unguarded is true if the engine could not be asked, and the
// policy let the request run all the same. Handlers find the fence of their claim with
// [guard.Fence].
//
// It is not promised that a handler is not interrupted half-way: a process may be
// killed. What becomes of such a request is for [guard.Policy.OnUnknown] to say.
// Nor is it promised that the client gets the answer; but that it gets the same
// one when it asks again.
package interlockhttp
