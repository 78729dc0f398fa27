package interlockhttp

import (
	"context"
	"io"
	"net/http"
	"time"
)

// A course is one intent on its way: all tries of one request.
type course struct {
	t      *Transport
	req    *http.Request // the caller's, which is only read
	intent intent
	body   replay
	tries  int
	sent   bool      // something may have reached the server
	first  time.Time // when the first try began
	until  time.Time // when the last one may
}

func (c *course) run() (*http.Response, error) {
	c.first = time.Now()
	c.until = c.first.Add(min(c.t.retryFor, c.t.lifetime))
	if deadline, ok := c.req.Context().Deadline(); ok && deadline.Before(c.until) {
		c.until = deadline
	}
	body := c.body.first
	if malformed(c.req) {
		return c.try(body) // what is wrong with it, net/http says best
	}
	for {
		resp, err := c.try(body)
		r, again := c.judge(resp, err)
		if !again || !time.Now().Add(r.After).Before(c.until) {
			return resp, c.giveUp(err)
		}
		if body, again = c.body.again(); !again {
			return resp, c.giveUp(err)
		}
		if resp != nil {
			discard(resp.Body)
		}
		if c.t.onRetry != nil {
			c.t.onRetry(r)
		}
		if err := pause(c.req.Context(), r.After); err != nil {
			_ = body.Close() // nothing was read from it
			return nil, c.giveUp(err)
		}
	}
}

// try sends the request once.
func (c *course) try(body io.ReadCloser) (*http.Response, error) {
	c.tries++
	req := c.req.Clone(WithKey(c.req.Context(), c.intent.key))
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	c.intent.hide(req.Header, c.t.field)
	c.body.dress(req, body)
	resp, err := c.t.base.RoundTrip(req)
	c.sent = c.sent || !neverSent(err)
	if left, ok := expires(resp); ok && c.first.Add(left).Before(c.until) {
		c.until = c.first.Add(left)
	}
	return resp, err
}

// pause waits for d, or for the end of ctx, which is its error.
func pause(ctx context.Context, d time.Duration) error {
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
	mostDrained   = 64 << 10        // bytes: more costs more than a new connection
	drainedWithin = 2 * time.Second // a server that stalls does not hold up the retry
)

// discard reads what is left of an answer that nobody wants, so that its connection
// can be used again.
func discard(body io.ReadCloser) {
	late := time.AfterFunc(drainedWithin, func() { _ = body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, body, mostDrained) // if it breaks off, so be it
	_ = body.Close()
}
