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
	if r.Kind != engine.Exclusive {
		return e.releaseAs(ctx, name, &r, "-")
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
	if r.Kind != engine.Exclusive {
		return e.releaseAs(ctx, name, &r, e.tombstoneLife(&r))
	}
	reply, err := e.tryRelease(ctx, name, &r, abandonScript)
	return e.parting(ctx, name, abandonScript, reply, err)
}

// releaseAs is Release for the other kinds, and Abandon if it is told how long a
// tombstone lasts. They share no trips.
func (e *Engine) releaseAs(ctx context.Context, name string, r *engine.Request, life string) (engine.Parting, error) {
	k := kinds[r.Kind]
	c := e.call(k.release)
	defer c.free()
	c.keys(name, k.channel(name))
	c.keys(k.keys(name)...)
	c.args(r.Holder, r.Attempt, string(e.publish), life)
	if life != "-" {
		c.keys(tombstone(name, r.Holder, r.Attempt))
	}
	if r.Kind == engine.Read || r.Kind == engine.Write {
		c.args(space(name))
	}
	reply, err := e.client.Eval(ctx, c)
	if err != nil {
		return engine.Parting{}, e.explain(ctx, name, k.release, err)
	}
	return e.parted(k.channel(name), reply), nil
}

// tombstoneLife is how long, in ms, an attempt stays refused. A late acquire may
// be granted for a while after it was sent without a look at the tombstone; that
// must not be over before the patience is.
func (e *Engine) tombstoneLife(r *engine.Request) string {
	return strconv.FormatInt(max(ceil(r.Lease), 2*ceil(e.timeout)), 10)
}

// tryRelease sends the request.
func (e *Engine) tryRelease(ctx context.Context, name string, r *engine.Request, s *Script) (Reply, error) {
	c := e.call(s)
	defer c.free()
	c.keys(name, channel(name))
	c.args(r.Holder, r.Attempt, string(e.publish))
	if s == abandonScript {
		c.keys(tombstone(name, r.Holder, r.Attempt))
		c.args(e.tombstoneLife(r))
	}
	return e.client.Eval(ctx, c)
}

// parting reads the answer of release.lua and its like.
func (e *Engine) parting(ctx context.Context, name string, s *Script, reply Reply, err error) (engine.Parting, error) {
	if err != nil {
		return engine.Parting{}, e.explain(ctx, name, s, err)
	}
	return e.parted(channel(name), reply), nil
}

// parted reads the answer of a release that was made known to all on channel.
func (e *Engine) parted(channel string, reply Reply) engine.Parting {
	switch {
	case len(reply.List) > 1: // told to one in line
		return engine.Parting{Outcome: engine.Released, Count: int(reply.List[0].Int), Listeners: int(reply.List[1].Int)}
	case reply.List != nil:
		return engine.Parting{Outcome: engine.Released, Count: int(reply.List[0].Int)}
	case reply.Int < 0:
		return engine.Parting{Outcome: engine.NotYours}
	case reply.Int == 0:
		return engine.Parting{Outcome: engine.AlreadyFree}
	}
	p := engine.Parting{Outcome: engine.Released, Listeners: int(reply.Int - 1)}
	if p.Listeners > 0 && e.notifier.lingers(channel) {
		p.Listeners--
	}
	return p
}
