package redisengine

import (
	"context"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.Parting, error) {
	name, err := e.admit(ctx, &r)
	if err != nil {
		return engine.Parting{}, err
	}
	if e.releases.alone() {
		reply, err := e.tryRelease(ctx, name, &r, releaseScript)
		e.releases.ended(silence(ctx, err))
		return e.parting(ctx, name, releaseScript, reply, err)
	}
	told, err := e.releases.share(ctx, e.board(name, &r, 0))
	if told > 0 || err != nil {
		return e.parting(ctx, name, releaseManyScript, Reply{Int: told}, err)
	}
	reply, err := e.tryRelease(ctx, name, &r, releaseScript)
	return e.parting(ctx, name, releaseScript, reply, err)
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.Parting, error) {
	name, err := e.admit(ctx, &r)
	if err != nil {
		return engine.Parting{}, err
	}
	reply, err := e.tryRelease(ctx, name, &r, abandonScript)
	return e.parting(ctx, name, abandonScript, reply, err)
}

// tryRelease sends the request.
func (e *Engine) tryRelease(ctx context.Context, name string, r *engine.Request, s *Script) (Reply, error) {
	c := e.call(s)
	defer c.free()
	c.keys(name, channel(name))
	c.args(r.Holder, r.Attempt, string(e.publish))
	if s == abandonScript {
		// A late acquire may be granted for a while after it was sent without
		// a look at the tombstone; that must not be over before the patience is.
		c.keys(tombstone(name, r.Holder, r.Attempt))
		c.args(strconv.FormatInt(max(ceil(r.Lease), 2*ceil(e.timeout)), 10))
	}
	return e.client.Eval(ctx, c)
}

// parting reads the answer of release.lua and its like.
func (e *Engine) parting(ctx context.Context, name string, s *Script, reply Reply, err error) (engine.Parting, error) {
	switch {
	case err != nil:
		return engine.Parting{}, e.explain(ctx, name, s, err)
	case reply.List != nil:
		return engine.Parting{Outcome: engine.Released, Count: int(reply.List[0].Int)}, nil
	case reply.Int < 0:
		return engine.Parting{Outcome: engine.NotYours}, nil
	case reply.Int == 0:
		return engine.Parting{Outcome: engine.AlreadyFree}, nil
	}
	p := engine.Parting{Outcome: engine.Released, Listeners: int(reply.Int - 1)}
	if p.Listeners > 0 && e.notifier.lingers(channel(name)) {
		p.Listeners--
	}
	return p, nil
}
