package redisengine

import (
	"context"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine]. Concurrent releases share a batch; see
// [Engine.Acquire].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	name, err := e.checkRequest(ctx, &r)
	if err != nil {
		return engine.ReleaseResult{}, err
	}
	m := e.mergerFor(&e.releases, r.Kind)
	// Only a hold that was entered once and has no queue can be released in a batch. For
	// others the batch answers 0, and the call is sent alone.
	direct := m != nil && m.startDirect()
	if m != nil && !direct {
		reply, err := m.enqueue(ctx, e.lockItem(name, &r, 0))
		if err != nil {
			return engine.ReleaseResult{}, e.explain(ctx, name, releaseManyScript, err)
		}
		if reply.Int > 0 {
			return e.parseRelease(name, r.Kind, reply), nil
		}
	}
	reply, err := e.sendRelease(ctx, name, &r, "-")
	if direct {
		m.endDirect(noAnswer(ctx, err))
	}
	return e.releaseResult(ctx, name, &r, reply, err)
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	name, err := e.checkRequest(ctx, &r)
	if err != nil {
		return engine.ReleaseResult{}, err
	}
	reply, err := e.sendRelease(ctx, name, &r, e.tombstoneLife(r.Lease))
	return e.releaseResult(ctx, name, &r, reply, err)
}

// tombstoneLife returns the lifetime of a tombstone in ms. Within one timeout after an
// attempt was sent, it may be granted without reading its tombstone. So the tombstone must
// last longer than that.
func (e *Engine) tombstoneLife(lease time.Duration) string {
	return strconv.FormatInt(max(ceil(lease), 2*ceil(e.timeout)), 10)
}

// sendRelease runs the release script of r's kind. With the lifetime of a tombstone
// it abandons the attempt; with "-" it releases.
func (e *Engine) sendRelease(ctx context.Context, name string, r *engine.Request, life string) (Reply, error) {
	k := kinds[r.Kind]
	c := e.call(k.release)
	defer c.free()
	c.keys(name, k.channel(name))
	c.keys(k.keys(name)...)
	c.args(r.Holder, r.Attempt, string(e.mode()), life)
	if life != "-" {
		// The tombstone must be the last key; see release_common.lua.
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	if r.Kind == engine.Read || r.Kind == engine.Write {
		// With Redisson, all waiters are notified, because its clients are not in the
		// queues.
		c.args(boolArg(e.redisson), leasePrefix(name))
	}
	return e.eval(ctx, c)
}

// boolArg returns a flag as the scripts read it.
func boolArg(flag bool) string {
	if flag {
		return "1"
	}
	return "0"
}

// releaseResult turns the reply of a release that was sent alone into its result.
func (e *Engine) releaseResult(ctx context.Context, name string, r *engine.Request, reply Reply, err error) (engine.ReleaseResult, error) {
	if err != nil {
		return engine.ReleaseResult{}, e.explain(ctx, name, kinds[r.Kind].release, err)
	}
	return e.parseRelease(name, r.Kind, reply), nil
}

// parseRelease reads the reply of a release script; see release_common.lua.
func (e *Engine) parseRelease(name string, k engine.Kind, reply Reply) engine.ReleaseResult {
	switch {
	case reply.List != nil:
		return engine.ReleaseResult{Outcome: engine.Released, Count: int(reply.List[0].Int), Listeners: int(reply.List[1].Int)}
	case reply.Int < 0:
		return engine.ReleaseResult{Outcome: engine.NotYours}
	case reply.Int == 0:
		return engine.ReleaseResult{Outcome: engine.AlreadyFree}
	}
	result := engine.ReleaseResult{Outcome: engine.Released, Listeners: int(reply.Int - 1)}
	if result.Listeners > 0 && e.notifier.idle(kinds[k].channel(name)) {
		result.Listeners-- // this process is subscribed, but has no waiter
	}
	return result
}
