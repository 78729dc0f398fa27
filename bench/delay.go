package main

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// A distant engine is one whose server is far away: each call takes a while before
// it is sent. A proxy would do it as well, and cost more than what is measured on a
// machine that has to run five of them beside five servers.
type distant struct{ *redisengine.Engine }

// Acquire implements [engine.Engine].
func (d distant) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	time.Sleep(away)
	return d.Engine.Acquire(ctx, r)
}

// Release implements [engine.Engine].
func (d distant) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	time.Sleep(away)
	return d.Engine.Release(ctx, r)
}

// Raise implements [engine.Fencer].
func (d distant) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	time.Sleep(away)
	return d.Engine.Raise(ctx, r, fence)
}

// Capabilities implements [engine.Engine].
func (d distant) Capabilities() engine.Capabilities {
	c := d.Engine.Capabilities()
	c.Fencer = d
	return c
}
