package redisengine

import (
	"context"
	"strconv"

	"github.com/interlock-go/interlock/engine"
)

// Release implements [engine.Engine].
func (e *Engine) Release(ctx context.Context, r engine.Request) (engine.Parting, error) {
	return e.part(ctx, &r, releaseScript)
}

// Abandon implements [engine.Engine].
func (e *Engine) Abandon(ctx context.Context, r engine.Request) (engine.Parting, error) {
	return e.part(ctx, &r, abandonScript)
}

func (e *Engine) part(ctx context.Context, r *engine.Request, s *Script) (engine.Parting, error) {
	name, err := e.admit(ctx, r)
	if err != nil {
		return engine.Parting{}, err
	}
	c := e.call(s)
	defer c.free()
	ch := channel(name)
	c.keys(name, ch)
	c.args(r.Holder, r.Attempt, string(e.publish))
	if s == abandonScript {
		// A late acquire may be granted for a while after it was sent without
		// a look at the tombstone; that must not be over before the patience is.
		c.keys(tombstone(name, r.Holder, r.Attempt))
		c.args(strconv.FormatInt(max(ceil(r.Lease), 2*ceil(e.timeout)), 10))
	}
	reply, err := e.client.Eval(ctx, c)
	if err != nil {
		return engine.Parting{}, e.explain(ctx, name, s, err)
	}
	p := parting(reply)
	if p.Listeners > 0 && e.notifier.lingers(ch) {
		p.Listeners--
	}
	return p, nil
}

// parting reads the answer of release.lua and abandon.lua.
func parting(reply Reply) engine.Parting {
	switch {
	case reply.List != nil:
		return engine.Parting{Outcome: engine.Released, Count: int(reply.List[0].Int)}
	case reply.Int > 0:
		return engine.Parting{Outcome: engine.Released, Listeners: int(reply.Int - 1)}
	case reply.Int < 0:
		return engine.Parting{Outcome: engine.NotYours}
	}
	return engine.Parting{Outcome: engine.AlreadyFree}
}
