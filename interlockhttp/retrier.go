package interlockhttp

import (
	"context"
	"io"
	"net/http"
	"time"
)

// A retrier sends one request until it succeeds or retrying is pointless.
type retrier struct {
	transport *Transport
	req       *http.Request // the caller's; never changed
	intent    intent
	body      replayableBody
	tries     int
	sent      bool      // a try may have reached the server
	started   time.Time // when the first try began
	deadline  time.Time // no try begins after it
}

// run sends the request until the outcome is final, a limit is reached, or the body cannot
// be sent again.
func (c *retrier) run() (*http.Response, error) {
	c.started = time.Now()
	c.deadline = c.started.Add(min(c.transport.retryFor, c.transport.lifetime))
	if deadline, ok := c.req.Context().Deadline(); ok && deadline.Before(c.deadline) {
		c.deadline = deadline
	}
	body := c.body.first
	if malformed(c.req) {
		return c.send(body) // net/http reports what is wrong
	}
	for {
		resp, err := c.send(body)
		r, again := c.shouldRetry(resp, err)
		if !again || !time.Now().Add(r.After).Before(c.deadline) {
			return resp, c.wrapError(err)
		}
		if body, again = c.body.reopen(); !again {
			return resp, c.wrapError(err)
		}
		if resp != nil {
			discard(resp.Body)
		}
		if c.transport.onRetry != nil {
			c.transport.onRetry(r)
		}
		if err := sleep(c.req.Context(), r.After); err != nil {
			_ = body.Close() // nothing was read
			return nil, c.wrapError(err)
		}
	}
}

// send makes one try.
func (c *retrier) send(body io.ReadCloser) (*http.Response, error) {
	c.tries++
	req := c.req.Clone(WithKey(c.req.Context(), c.intent.key))
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	c.intent.setField(req.Header, c.transport.field)
	c.body.attach(req, body)
	resp, err := c.transport.base.RoundTrip(req)
	c.sent = c.sent || !neverSent(err)
	if left, ok := expires(resp); ok && c.started.Add(left).Before(c.deadline) {
		c.deadline = c.started.Add(left)
	}
	return resp, err
}

// sleep waits for d. If ctx ends first, it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	maxDrain     = 64 << 10        // bytes; draining more costs more than a new connection
	drainTimeout = 2 * time.Second // a stalled server does not delay the retry
)

// discard drains an unwanted response, so that its connection can be reused.
func discard(body io.ReadCloser) {
	timer := time.AfterFunc(drainTimeout, func() { _ = body.Close() })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, maxDrain) // an error only costs the connection
	_ = body.Close()
}
