package interlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// release releases a lock at the engine on a detached context. If a reply is
// lost it asks again; a lock found free then counts as released.
func (c *core) release(req engine.Request) (engine.ReleaseResult, error) {
	return c.releaseWithin(c.detached.Context(time.Now()), req)
}

func (c *core) releaseWithin(ctx context.Context, req engine.Request) (engine.ReleaseResult, error) {
	if req.Retry { // an earlier request of the attempt may still be on its way
		defer c.cleanUp(req, nil, time.Now())
	}
	res, err := c.engine.Release(ctx, req)
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() != nil && !engine.Temporary(err): // too busy a machine to send it in time
		return res, fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	replyLost := errors.Is(err, engine.ErrUnknown)
	for tries := 1; engine.Temporary(err); tries++ {
		lastErr := err
		if c.pause(ctx, tries) != nil {
			return engine.ReleaseResult{}, lastErr
		}
		if res, err = c.engine.Release(ctx, req); err != nil && ctx.Err() != nil && !engine.Temporary(err) {
			return engine.ReleaseResult{}, lastErr // says more than "deadline exceeded"
		}
		replyLost = replyLost || errors.Is(err, engine.ErrUnknown)
	}
	if err == nil && replyLost && res.Outcome != engine.Released {
		res.Outcome = engine.Released // by the request whose reply was lost
	}
	return res, err
}

// leaveQueue gives up, in the background, the queue position of a caller that
// has stopped waiting. If the engine cannot be reached, the position expires.
func (c *core) leaveQueue(req engine.Request) {
	c.tasks.Go(func() { _, _ = c.release(req) })
}

// lossReason asks the engine why it did not know a hold that was to be
// released.
func (c *core) lossReason(req engine.Request) error {
	errs := c.engine.Renew(c.detached.Context(time.Now()), []engine.Request{req})
	return watchdog.LossReason(errs[0], ErrRevoked)
}

// unreleased counts and traces a lock that could not be released.
func (c *core) unreleased(req *engine.Request, t *Trace, held time.Duration, err error) {
	c.stats.releaseFailed.Add(1)
	if t != nil && t.ReleaseFailed != nil {
		t.ReleaseFailed(ReleaseFailed{Key: req.Key, Holder: req.Holder, Held: held, Err: err})
	}
}

// pause waits before a retry. Unlike sleep it does not end when the client
// closes: clean-up is part of closing.
func (c *core) pause(ctx context.Context, tries int) error {
	timer := time.NewTimer(Exponential(minPause, maxPause)(tries))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cleanUp undoes, in the background, an acquisition that may have been granted.
// Its last request was sent at sent. Until LateGrant has passed the engine may
// still grant a request on its way, so it is abandoned a second time then.
func (c *core) cleanUp(req engine.Request, t *Trace, sent time.Time) {
	c.tasks.Go(func() {
		left := c.caps.LateGrant - time.Since(sent) // counted from now, before abandon is answered
		end := time.Now().Add(left + watchdog.Drift(left))
		found, err := c.abandon(req)
		if left > 0 {
			timer := time.NewTimer(time.Until(end))
			<-timer.C
			again, err2 := c.abandon(req)
			found, err = found || again, err2
		}
		c.stats.cleanedUp.Add(1)
		if t != nil && t.CleanedUp != nil {
			t.CleanedUp(CleanedUp{Key: req.Key, Holder: req.Holder, Found: found, Err: err})
		}
	})
}

// abandon gives up an attempt. It retries for one lease: that is how long a
// grant without a holder could block others. It reports whether it found one.
func (c *core) abandon(req engine.Request) (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), max(req.Lease, detach.Timeout))
	defer cancel()
	for tries := 1; ; tries++ {
		res, err := c.engine.Abandon(ctx, req)
		if err == nil || !engine.Temporary(err) && !errors.Is(err, engine.ErrFull) { // a full engine has no space for a tombstone
			return res.Outcome == engine.Released, err
		}
		if c.pause(ctx, tries) != nil {
			return false, err
		}
	}
}
