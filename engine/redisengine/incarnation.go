package redisengine

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Incarnations = (*Engine)(nil)

// durable is the incarnation of a server that syncs every write before it answers. It
// survives restarts.
var durable = engine.Incarnation{ID: "appendfsync always", Age: math.MaxInt64}

// Connections implements [engine.Incarnations]. It is zero on a client of the caller.
func (e *Engine) Connections() uint64 { return e.dialed.Load() }

// Incarnation implements [engine.Incarnations]. An incarnation is one run of the server,
// unless its append-only file is synced at every write; to see that, the user must be
// allowed to run CONFIG GET appendfsync. Deleted data, or an append-only file that was
// empty at the start, goes unnoticed.
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Incarnation{}, err
	}
	c := e.call(incarnationScript)
	defer c.free()
	reply, err := e.eval(ctx, c)
	if err == nil && len(reply.List) != 3 {
		err = fmt.Errorf("the reply has %d items, want 3", len(reply.List))
	}
	if err != nil {
		return engine.Incarnation{}, e.explain(ctx, "incarnation", incarnationScript, err)
	}
	run, uptime, appends := reply.List[0].Text, reply.List[1].Text, reply.List[2].Text
	// CONFIG may be forbidden, and is not allowed in scripts, so it is a second call.
	if appends == "1" && e.syncsAlways(ctx) {
		return durable, nil
	}
	seconds, err := strconv.ParseInt(uptime, 10, 64)
	if run == "" || err != nil {
		return engine.Incarnation{}, fmt.Errorf("redis: the server does not report its run_id (%q) and uptime_in_seconds (%q): %w",
			run, uptime, engine.ErrUnavailable)
	}
	// The uptime is in whole seconds, so the server may be up to 1 s younger.
	return engine.Incarnation{ID: run, Age: time.Duration(max(seconds-1, 0)) * time.Second}, nil
}

// syncsAlways reports whether the server syncs every write before it answers. It returns
// false if the server does not report it.
func (e *Engine) syncsAlways(ctx context.Context) bool {
	client := e.client
	// Incarnation has just made a call, so a lazy client is connected.
	if l, ok := client.(*lazyClient); ok {
		client = l.connected()
	}
	r, ok := client.(*rueidisClient)
	if !ok {
		return false
	}
	config, err := r.client.Do(ctx, r.client.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap()
	return err == nil && config["appendfsync"] == "always"
}
