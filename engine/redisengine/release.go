package redisengine

import (
	"context"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	name, err := e.checkRequest(ctx, &r)
	if err != nil {
		return engine.ReleaseResult{}, err
	}
	trips := e.mergerFor(&e.releases, r.Kind)
	alone := trips != nil && trips.startDirect()
	if trips != nil && !alone {
		told, err := trips.enqueue(ctx, e.lockItem(name, &r, 0))
		if err != nil {
			return engine.ReleaseResult{}, e.explain(ctx, name, releaseManyScript, err)
		}
		if told.Int > 0 {
			return e.parseRelease(name, r.Kind, told), nil
		}
	}
	p, err := e.sendRelease(ctx, name, &r, "-")
	if alone {
		trips.endDirect(noAnswer(ctx, err))
	}
	return e.releaseResult(ctx, name, &r, p, err)
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

// tombstoneLife is how long an attempt stays refused, in ms. A late one may be
// granted for a while after it was sent without a look at the tombstone; that must
// not be over before the patience is.
func (e *Engine) tombstoneLife(lease time.Duration) string {
	return strconv.FormatInt(max(ceil(lease), 2*ceil(e.timeout)), 10)
}

// part sends a release, or an abandon if it is told how long, in ms, the attempt
// is to stay refused.
func (e *Engine) sendRelease(ctx context.Context, name string, r *engine.Request, life string) (Reply, error) {
	c := e.call(releaseScript)
	defer c.free()
	if k := kinds[r.Kind]; k != nil {
		c.Script = k.release
		c.keys(name, k.channel(name))
		c.keys(k.keys(name)...)
		c.args(r.Holder, r.Attempt, string(e.publish), life)
	} else {
		c.keys(name, lockChannel(name))
		c.args(r.Holder, r.Attempt, string(e.publish))
		if life != "-" {
			c.Script = abandonScript
			c.args(life)
		}
	}
	if life != "-" {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	if r.Kind == engine.Read || r.Kind == engine.Write {
		c.args(boolArg(e.redisson), leasePrefix(name))
	}
	return e.client.Eval(ctx, c)
}

// flag is how scripts are told of something that is so or not.
func boolArg(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// parting reads the answer of release.lua and its like.
func (e *Engine) releaseResult(ctx context.Context, name string, r *engine.Request, reply Reply, err error) (engine.ReleaseResult, error) {
	if err == nil {
		return e.parseRelease(name, r.Kind, reply), nil
	}
	s := releaseScript
	if k := kinds[r.Kind]; k != nil {
		s = k.release
	}
	return engine.ReleaseResult{}, e.explain(ctx, name, s, err)
}

// parted reads the answer of a release that the server has carried out.
func (e *Engine) parseRelease(name string, k engine.Kind, reply Reply) engine.ReleaseResult {
	switch {
	case len(reply.List) > 1: // told to one in line
		return engine.ReleaseResult{Outcome: engine.Released, Count: int(reply.List[0].Int), Listeners: int(reply.List[1].Int)}
	case reply.List != nil:
		return engine.ReleaseResult{Outcome: engine.Released, Count: int(reply.List[0].Int)}
	case reply.Int < 0:
		return engine.ReleaseResult{Outcome: engine.NotYours}
	case reply.Int == 0:
		return engine.ReleaseResult{Outcome: engine.AlreadyFree}
	}
	p := engine.ReleaseResult{Outcome: engine.Released, Listeners: int(reply.Int - 1)}
	if p.Listeners > 0 && e.notifier.idle(channelOf(k, name)) {
		p.Listeners--
	}
	return p
}

// channelOf is where the release of a lock of that kind is made known to all.
func channelOf(k engine.Kind, name string) string {
	if other := kinds[k]; other != nil {
		return other.channel(name)
	}
	return lockChannel(name)
}
