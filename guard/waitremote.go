package guard

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/retry"
)

// waitRemote waits until another process settles its claim or the claim expires, and
// asks again. The other callers in this process wait for this call.
func (k *call) waitRemote(ctx context.Context, e *entry, a *answer) (*answer, error) {
	c := k.core
	if !c.inflight.addWaiter(e) {
		return nil, k.tooManyWaiters(a.rec)
	}
	defer c.inflight.removeWaiter(e)
	wake, stop := a.ledger.Watch(k.hash)
	defer stop()
	c.stats.waiting.Add(1)
	defer c.stats.waiting.Add(-1)
	end := k.start.Add(c.policy.Wait)
	for heldByOther(a) {
		c.inflight.setWaitingRemote(e, a.rec)
		pause := backoff.Jitter(retry.MaxPoll)
		if leaseLeft := a.rec.Left - time.Since(a.received); leaseLeft > 0 {
			pause = min(pause, leaseLeft+time.Millisecond)
		}
		waitLeft := time.Until(end)
		if waitLeft <= 0 {
			return a, nil
		}
		timer := time.NewTimer(min(pause, waitLeft))
		select {
		case <-wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, k.canceled(context.Cause(ctx))
		case <-c.closing:
			timer.Stop()
			return nil, ErrClosed
		}
		timer.Stop()
		last := *a
		next, err := k.claim(ctx, last.local)
		switch {
		case err == nil:
			a = next
		case isDown(err) && ctx.Err() == nil && last.rec.Left > time.Since(last.received):
			*a = last // the engine is down, but the other process's lease still runs
		default:
			return nil, err
		}
	}
	return a, nil
}
