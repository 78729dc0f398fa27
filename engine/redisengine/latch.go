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
	who := "-"
	if r.Attempt != "" {
		who = permitName(&r)
	}
	c.args(strconv.Itoa(r.Limit), who, e.lease.text(r.Lease), string(e.publish))
	reply, err := e.client.Eval(ctx, c)
	switch {
	case err != nil:
		return 0, e.explain(ctx, name, countDownScript, err)
	case reply.Int < 0:
		return 0, kindError(name)
	}
	return int(reply.Int), nil
}

// admitLatch tells why a latch is not to be counted down, if it is not, and
// otherwise the name of its key.
func (e *Engine) checkLatch(ctx context.Context, r *engine.Request) (string, error) {
	if err := e.usable(ctx); err != nil {
		return "", err
	}
	if r.Limit <= 0 || r.Lease <= 0 {
		return "", fmt.Errorf("redis: latch %q lacks something: set a Limit and a Lease above zero", r.Key)
	}
	return e.name(r.Key)
}
