package guard

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// cleanUp undoes, in the background, a claim that may have been granted. It was
// last asked for at sent.
func (c *core) cleanUp(l engine.Ledger, req engine.Claim, sent time.Time) {
	c.background.Go(func() {
		left := c.patience - time.Since(sent)
		over := time.Now().Add(left + watchdog.Drift(left))
		found, err := c.abandon(l, req)
		if left > 0 {
			// Until then the engine may still grant what is on its way.
			time.Sleep(time.Until(over))
			var again bool
			again, err = c.abandon(l, req)
			found = found || again
		}
		c.stats.cleanedUp.Add(1)
		if t := c.trace; t != nil && t.Cleaned != nil {
			t.Cleaned(Cleaned{Guard: c.policy.Name, Key: req.Key, Found: found, Err: err})
		}
	})
}

// longestCleanUp bounds for how long an engine that is down is told that a claim was
// given up.
const longestCleanUp = 15 * time.Minute

// abandon gives up a claim, trying for as long as what it may have left behind
// would last: the lease, and the mark that it began. A guard that is being closed
// tries for a lease. It reports whether there was something.
func (c *core) abandon(l engine.Ledger, req engine.Claim) (found bool, err error) {
	lease := max(req.Lease, detach.Detached)
	ctx, cancel := context.WithTimeout(context.Background(), max(lease, min(req.Retain, longestCleanUp)))
	defer cancel()
	begun := time.Now()
	for tries := 1; ; tries++ {
		out, err := l.Settle(ctx, engine.Settlement{Key: req.Key, Attempt: req.Attempt, Abandon: true, Lease: req.Lease})
		if err == nil || !isDown(err) {
			return out == engine.Released, err
		}
		late := c.closed.Load() && time.Since(begun) > lease
		if late || c.pause(ctx, backoff.Pause(leastPause, mostPause, tries)) != nil {
			return false, err
		}
	}
}

// pause waits before an engine that failed is asked again.
func (c *core) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
