package interlockhttp

import (
	"context"
	"net/http"
	"time"
)

// A Transport retries requests without executing them twice. Every POST and PATCH gets a
// key. Without a response, or after one that allows a retry, it is sent again with the
// same key and body:
//
//	client := &http.Client{Transport: interlockhttp.NewTransport(nil)}
//
// A request that has a key keeps it; [WithKey] sets one that outlives this process.
// Otherwise the key is new, and is the same for all tries of the request, redirects
// included.
//
// A request is retried after transport errors; after 408, 425, 429, 500, 502, 503 and
// 504; after a 409 without a problem but with a Retry-After; and after a [Problem] with
// code [InProgress] or [Locked]. It is not retried after a problem that rules out a retry or
// requires another key. [Attempts], [RetryFor], [Lifetime] and the deadline of the
// request's context bound the retries. At the end the last response is returned, or a
// *[GaveUpError].
//
// A server that ignores the key executes every try. Use a Transport only for services
// that document the key.
//
// The next RoundTripper sees the key under its name in lower case, because net/http would
// otherwise resend the request by itself.
//
// A Transport is safe for concurrent use.
type Transport struct {
	base               http.RoundTripper
	field              string
	bare               bool
	methods            map[string]bool
	attempts           int
	retryFor           time.Duration
	lifetime           time.Duration
	minPause, maxPause time.Duration
	maxRetryAfter      time.Duration
	maxReplay          int64
	onRetry            func(Retry)
}

// NewTransport returns a Transport that sends requests with base, or with
// [http.DefaultTransport] if that is nil.
func NewTransport(base http.RoundTripper, opts ...TransportOption) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &Transport{
		base:          base,
		field:         "Idempotency-Key",
		methods:       map[string]bool{http.MethodPost: true, http.MethodPatch: true},
		attempts:      4,
		retryFor:      30 * time.Second,
		lifetime:      24 * time.Hour,
		minPause:      200 * time.Millisecond,
		maxPause:      5 * time.Second,
		maxRetryAfter: time.Minute,
		maxReplay:     1 << 20,
	}
	for _, opt := range opts {
		opt(t)
	}
	return t
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.methods[req.Method] {
		resp, err := t.base.RoundTrip(req)
		return resp, t.afterRedirect(req, err)
	}
	c, err := t.newRetrier(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return c.run()
}

// afterRedirect returns the error of a request that fetches the result of a POST, as after
// a 303. The failed fetch does not tell whether the POST was executed, so its outcome is
// unknown.
func (t *Transport) afterRedirect(req *http.Request, err error) error {
	if err == nil {
		return nil
	}
	for from := req.Response; from != nil && from.Request != nil; from = from.Request.Response {
		if t.methods[from.Request.Method] {
			key, _ := KeyFrom(from.Request.Context())
			return &GaveUpError{Tries: 1, Key: key, Sent: true, Err: err}
		}
	}
	return err
}

// newRetrier prepares the tries of a request. Nothing is sent yet.
func (t *Transport) newRetrier(req *http.Request) (*retrier, error) {
	n, err := t.intentOf(req)
	if err != nil {
		return nil, err
	}
	if req.Context().Err() != nil {
		return nil, context.Cause(req.Context())
	}
	body, err := newReplayableBody(req, t.maxReplay)
	if err != nil {
		return nil, err
	}
	return &retrier{transport: t, req: req, intent: n, body: body}, nil
}

// CloseIdleConnections calls the same method of the base RoundTripper, if it has one.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // nothing was sent, so an error does not matter
	}
}
