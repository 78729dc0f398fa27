package redisengine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// quotas implements [engine.Quotas].
type quotas struct{ *Engine }

// Take implements [engine.Quotas].
func (q quotas) Take(ctx context.Context, r engine.Quota) (engine.Usage, error) {
	name, err := q.checkQuota(ctx, &r)
	if err != nil {
		return engine.Usage{}, err
	}
	c := q.call(takeScript)
	defer c.free()
	c.keys(quotaKey(name))
	attempt := "-" // the script takes nothing
	if r.Attempt != "" {
		attempt = unitName(r.Attempt)
	}
	c.args(attempt, strconv.Itoa(r.Limit))
	c.args(windowArgs(&r)...)
	reply, missing, err := q.evalAcked(ctx, c)
	switch {
	case err != nil:
		return engine.Usage{}, q.explain(ctx, name, takeScript, err)
	case len(reply.List) != 4:
		return engine.Usage{}, fail(name, fmt.Sprintf("take: the reply has %d parts, want 4", len(reply.List)), engine.ErrUnknown)
	}
	use := engine.Usage{
		Granted: reply.List[0].Int == 1,
		Outside: reply.List[0].Int < 0,
		Used:    int(reply.List[1].Int),
		Next:    time.Duration(reply.List[2].Int) * time.Microsecond,
		Now:     time.UnixMicro(reply.List[3].Int),
	}
	if missing > 0 && use.Granted {
		return engine.Usage{}, acksMissing(name, missing, q.undoTake(ctx, r))
	}
	return use, nil
}

// undoTake gives back a unit that does not count.
func (q quotas) undoTake(ctx context.Context, r engine.Quota) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
	defer cancel()
	_, err := q.Return(ctx, r)
	return err
}

// Return implements [engine.Quotas].
func (q quotas) Return(ctx context.Context, r engine.Quota) (bool, error) {
	name, err := q.checkQuota(ctx, &r)
	if err != nil {
		return false, err
	}
	c := q.call(returnUnitScript)
	defer c.free()
	c.keys(quotaKey(name))
	c.args(unitName(r.Attempt))
	c.args(windowArgs(&r)...)
	reply, err := q.eval(ctx, c)
	if err != nil {
		return false, q.explain(ctx, name, returnUnitScript, err)
	}
	return reply.Int == 1, nil
}

// unitName returns the member of an attempt. It differs from "-", which is no attempt.
func unitName(attempt string) string { return ":" + attempt }

// windowArgs returns the window of a quota in µs: the length of a sliding window, then the
// beginning and the end of a calendar window.
func windowArgs(r *engine.Quota) []string {
	if r.Until.IsZero() {
		return []string{strconv.FormatInt(max(1, r.Window.Microseconds()), 10), "0", "0"}
	}
	return []string{"0", strconv.FormatInt(r.From.UnixMicro(), 10), strconv.FormatInt(r.Until.UnixMicro(), 10)}
}

// checkQuota refuses an invalid request, and returns the name of the quota's key.
func (e *Engine) checkQuota(ctx context.Context, r *engine.Quota) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if r.Limit <= 0 || r.Until.IsZero() && r.Window <= 0 || !r.Until.IsZero() && !r.From.Before(r.Until) {
		return "", fmt.Errorf("redis: the request for quota %q is incomplete: set a Limit above zero, "+
			"and a Window above zero or From before Until", r.Key)
	}
	return e.name(r.Key)
}
