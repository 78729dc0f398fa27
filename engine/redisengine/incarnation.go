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

// kept is the memory of a server that writes everything to its disk before it
// answers. It is the same one after a restart, and reaches back for ever.
var durable = engine.Incarnation{ID: "appendfsync always", Age: math.MaxInt64}

// Connections implements [engine.Incarnations]. It counts the connections that the
// engine has opened, and is zero on a client of the caller's.
func (e *Engine) Connections() uint64 { return e.dialed.Load() }

// Incarnation implements [engine.Incarnations]. A memory is one run of the server, unless
// that has an append-only file that is synced at every write; to know, the user
// must be allowed to ask for CONFIG GET appendfsync. A server whose data somebody
// deletes, or whose append-only file was new when it began, does not tell.
func (e *Engine) Incarnation(ctx context.Context) (engine.Incarnation, error) {
	if err := e.usable(ctx); err != nil {
		return engine.Incarnation{}, err
	}
	c := e.call(incarnationScript)
	defer c.free()
	reply, err := e.client.Eval(ctx, c)
	if err == nil && len(reply.List) != 3 {
		err = fmt.Errorf("%d answers to 3 questions", len(reply.List))
	}
	if err != nil {
		return engine.Incarnation{}, e.explain(ctx, "memory", incarnationScript, err)
	}
	run, uptime, appends := reply.List[0].Text, reply.List[1].Text, reply.List[2].Text
	if appends == "1" && e.syncsAlways(ctx) {
		return durable, nil
	}
	seconds, err := strconv.ParseInt(uptime, 10, 64)
	if run == "" || err != nil {
		return engine.Incarnation{}, fmt.Errorf("redis: the server does not tell its run_id (%q) and uptime_in_seconds (%q): %w",
			run, uptime, engine.ErrUnavailable)
	}
	// The server counts whole seconds of its clock, so it may be up to one younger.
	return engine.Incarnation{ID: run, Age: time.Duration(max(seconds-1, 0)) * time.Second}, nil
}

// syncsAlways reports whether the append-only file is on the disk before the
// server answers. If it does not tell, it is taken not to be.
func (e *Engine) syncsAlways(ctx context.Context) bool {
	client := e.client
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
