package guard

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
)

// scout waits until another process has settled its claim, or it is over, and
// asks again. Those in this process who want the same wait for the scout.
func (k *call) scout(ctx context.Context, s *seat, a *answer) (*answer, error) {
	c := k.core
	if !c.desk.queue(s) {
		return nil, k.crowded(a.rec)
	}
	defer c.desk.unqueue(s)
	wake, stop := a.ledger.Watch(k.hash)
	defer stop()
	c.stats.waiting.Add(1)
	defer c.stats.waiting.Add(-1)
	end := k.start.Add(c.policy.Wait)
	for taken(a) {
		c.desk.scout(s, a.rec)
		pause := backoff.Jitter(longestPoll)
		if left := a.rec.Left - time.Since(a.got); left > 0 {
			pause = min(pause, left+time.Millisecond)
		}
		left := time.Until(end)
		if left <= 0 {
			return a, nil
		}
		timer := time.NewTimer(min(pause, left))
		select {
		case <-wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, k.gaveUp(context.Cause(ctx))
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
		case isDown(err) && ctx.Err() == nil && last.rec.Left > time.Since(last.got):
			*a = last // somebody is known to be at work, whatever the engine says now
		default:
			return nil, err
		}
	}
	return a, nil
}
