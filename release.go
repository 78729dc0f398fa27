package interlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/retry"
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
	case ctx.Err() != nil && !engine.Temporary(err): // the machine was too busy to send the request in time
		return res, fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	replyLost := errors.Is(err, engine.ErrUnknown)
	for tries := 1; engine.Temporary(err); tries++ {
		lastErr := err
		if retry.Pause(ctx, tries) != nil {
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

// lossReason asks the engine why it no longer knew a hold when the client released
// it.
func (c *core) lossReason(req engine.Request) error {
	errs := c.engine.Renew(c.detached.Context(time.Now()), []engine.Request{req})
	return watchdog.LossReason(errs[0], ErrRevoked)
}

// unreleased counts and traces a lock that could not be released.
func (o *options) unreleased(ctx context.Context, req *engine.Request, held time.Duration, err error) {
	o.counters.releaseFailed.Add(1)
	if t := o.trace; t != nil && t.ReleaseFailed != nil {
		t.ReleaseFailed(ReleaseFailed{Context: ctx, Key: req.Key, Name: o.business, Kind: req.Kind, Holder: req.Holder, Held: held, Err: err})
	}
}

// cleanUp undoes, in the background, an acquisition that may have been granted.
// Its last request was sent at sent. The trace of o learns the result; o may be nil.
func (c *core) cleanUp(req engine.Request, o *options, sent time.Time) {
	undo := retry.CleanUp{
		Sent: sent, LateGrant: c.caps.LateGrant, Within: max(req.Lease, detach.Timeout),
		Abandon: func(ctx context.Context) (engine.Outcome, error) {
			res, err := c.engine.Abandon(ctx, req)
			return res.Outcome, err
		},
	}
	c.tasks.Go(func() {
		found, err := undo.Run()
		if o == nil {
			c.stats.of("").kind(req.Kind).cleanedUp.Add(1)
			return
		}
		o.counters.cleanedUp.Add(1)
		if o.trace != nil && o.trace.CleanedUp != nil {
			o.trace.CleanedUp(CleanedUp{Key: req.Key, Name: o.business, Kind: req.Kind, Holder: req.Holder, Found: found, Err: err})
		}
	})
}
