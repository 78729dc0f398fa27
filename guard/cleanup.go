package guard

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
	"github.com/interlock-go/interlock/internal/retry"
)

// maxCleanUp is the longest time for which cleanUp retries beyond one lease.
const maxCleanUp = 15 * time.Minute

// cleanUp undoes, in the background, a claim that the engine may have granted. The
// claim was last sent at sent.
//
// A claim that expires leaves a record with an unknown outcome until Retain has passed. So
// cleanUp retries for Retain, but at most for maxCleanUp and at least for one lease. After the
// guard is closed, it retries for one lease only.
func (c *core) cleanUp(l engine.Ledger, req engine.Claim, sent time.Time) {
	lease := max(req.Lease, detach.Timeout)
	undo := retry.CleanUp{
		Sent: sent, LateGrant: c.lateGrant, Within: max(lease, min(req.Retain, maxCleanUp)),
		Abandon: func(ctx context.Context) (engine.Outcome, error) {
			return l.Settle(ctx, engine.Settlement{Key: req.Key, Attempt: req.Attempt, Abandon: true, Lease: req.Lease})
		},
		Stop: func(elapsed time.Duration) bool { return c.closed.Load() && elapsed > lease },
	}
	c.tasks.Go(func() {
		found, err := undo.Run()
		c.stats.cleanedUp.Add(1)
		if t := c.trace; t != nil && t.Cleaned != nil {
			t.Cleaned(Cleaned{Guard: c.policy.Name, Key: req.Key, Found: found, Err: err})
		}
	})
}
