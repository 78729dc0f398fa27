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

// release gives a lock back to the engine, on nobody's context, and asks again
// if the answer is lost: that it is free by then counts as released.
func (c *core) release(req engine.Request) (engine.ReleaseResult, error) {
	return c.releaseWithin(c.bound.Context(time.Now()), req)
}

func (c *core) releaseWithin(ctx context.Context, req engine.Request) (engine.ReleaseResult, error) {
	if req.Retry { // what was asked before, and had no answer, may still be on its way
		defer c.cleanUp(req, nil, time.Now())
	}
	parting, err := c.engine.Release(ctx, req)
	switch {
	case err == nil:
		return parting, nil
	case ctx.Err() != nil && !engine.Temporary(err): // the machine is too busy to have asked
		return parting, fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	unsure := errors.Is(err, engine.ErrUnknown)
	for tries := 1; engine.Temporary(err); tries++ {
		trouble := err
		if c.pause(ctx, tries) != nil {
			return engine.ReleaseResult{}, trouble
		}
		if parting, err = c.engine.Release(ctx, req); err != nil && ctx.Err() != nil && !engine.Temporary(err) {
			return engine.ReleaseResult{}, trouble // that time is up says less
		}
		unsure = unsure || errors.Is(err, engine.ErrUnknown)
	}
	if err == nil && unsure && parting.Outcome != engine.Released {
		parting.Outcome = engine.Released // by the call whose answer was lost
	}
	return parting, err
}

// stepOut gives up, in the background, the place in line of somebody who has
// stopped waiting. If the engine does not hear of it, the place runs out.
func (c *core) stepOut(req engine.Request) {
	c.background.Go(func() { _, _ = c.release(req) })
}

// whyGone finds out why the engine did not know a hold that was to be released.
func (c *core) whyGone(req engine.Request) error {
	errs := c.engine.Renew(c.bound.Context(time.Now()), []engine.Request{req})
	return reasonGone(errs[0])
}

// unreleased counts and traces a lock that could not be released (L4).
func (c *core) unreleased(req *engine.Request, t *Trace, held time.Duration, err error) {
	c.stats.releaseFailed.Add(1)
	if t != nil && t.ReleaseFailed != nil {
		t.ReleaseFailed(ReleaseFailed{Key: req.Key, Holder: req.Holder, Held: held, Err: err})
	}
}

// pause waits before an engine that failed is asked again. Unlike rest it does
// not end early when the client is closed: clean-up is part of closing.
func (c *core) pause(ctx context.Context, tries int) error {
	timer := time.NewTimer(Exponential(leastPause, mostPause)(tries))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cleanUp undoes, in the background, an acquisition that may have happened. It
// was last asked for at sent.
func (c *core) cleanUp(req engine.Request, t *Trace, sent time.Time) {
	c.background.Go(func() {
		left := c.caps.LateGrant - time.Since(sent) // as of when abandon is sent, not answered
		over := time.Now().Add(left + watchdog.Drift(left))
		found, err := c.abandon(req)
		if left > 0 {
			// Until then the engine may still grant what is on its way.
			timer := time.NewTimer(time.Until(over))
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

// abandon gives up an attempt, trying for as long as what it may have left
// behind would last. It reports whether there was something.
func (c *core) abandon(req engine.Request) (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), max(req.Lease, detach.Detached))
	defer cancel()
	for tries := 1; ; tries++ {
		parting, err := c.engine.Abandon(ctx, req)
		if err == nil || !engine.Temporary(err) && !errors.Is(err, engine.ErrFull) { // a tombstone needs room
			return parting.Outcome == engine.Released, err
		}
		if c.pause(ctx, tries) != nil {
			return false, err
		}
	}
}
