package interlockhttp

import (
	"context"
	"net/http"
	"time"
)

// A Transport sends requests so that what they ask for is done once, although they
// may be sent more than once. Every POST and PATCH gets a key, and is sent again with
// that key and the same body when it got no answer, or one that says to come back:
//
//	client := &http.Client{Transport: interlockhttp.NewTransport(nil)}
//
// A request that has a key keeps it; [WithKey] gives it one that outlives this
// process. Without either the key is a new one, and is the same for all tries of
// the request, redirects included.
//
// It is retried after transport errors, after 408, 425, 429, 500, 502, 503 and 504,
// after a 409 that is no problem and has a Retry-After, and after a [Problem] that says that the same request is at work ([InProgress]) or
// waits for a lock ([Locked]). It is not after a problem that says that this is of no
// use, or takes another key. [Attempts], [RetryFor], [Lifetime] and the deadline of
// the request's context bound it; when they are reached, the last answer is
// returned, or a *[GaveUpError].
//
// A server that does not know the key does everything as often as it is asked. Use a
// Transport only for services that say that they know it.
//
// The key is in the header of what the next RoundTripper gets, with its name in lower
// case: net/http would otherwise send the request again by itself.
//
// A Transport may be used by many goroutines at once.
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
		return t.base.RoundTrip(req)
	}
	c, err := t.newRetrier(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return c.run()
}

// newRetrier returns the way before a request of which nothing was sent yet.
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

// CloseIdleConnections closes those of the RoundTripper below, if it has any.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // nothing was read from it that could be wrong
	}
}
