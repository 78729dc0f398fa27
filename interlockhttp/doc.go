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
// It is not promised that a handler is not interrupted half-way: a process may be
// killed. What becomes of such a request is for [guard.Policy.OnUnknown] to say.
// Nor is it promised that the client gets the answer; but that it gets the same
// one when it asks again.
package interlockhttp
