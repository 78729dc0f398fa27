package redisengine

import (
	"context"
	"fmt"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// CountDown implements [engine.Latcher].
func (e *Engine) CountDown(ctx context.Context, r engine.Request) (left int, err error) {
	name, err := e.checkLatch(ctx, &r)
	if err != nil {
		return 0, err
	}
	c := e.call(countDownScript)
	defer c.free()
	c.keys(name, latchChannel(name))
	attempt := "-" // the script counts nothing
	if r.Attempt != "" {
		// The script identifies an attempt by holder/attempt, as for a permit, because
		// attempts are unique only within one holder.
		attempt = permitName(&r)
	}
	c.args(strconv.Itoa(r.Limit), attempt, e.lease.text(r.Lease), string(e.mode()))
	reply, err := e.eval(ctx, c)
	switch {
	case err != nil:
		return 0, e.explain(ctx, name, countDownScript, err)
	case reply.Int < 0:
		return 0, kindError(name)
	}
	return int(reply.Int), nil
}

// checkLatch refuses an invalid request, and returns the key of the latch.
func (e *Engine) checkLatch(ctx context.Context, r *engine.Request) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if r.Limit <= 0 || r.Lease <= 0 {
		return "", fmt.Errorf("redis: the request for latch %q is incomplete: set a Limit and a Lease above zero", r.Key)
	}
	return e.name(r.Key)
}
