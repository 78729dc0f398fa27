package main

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// A distant engine simulates a distant server: it sleeps before each call. Delay proxies
// would need more CPU than the measured calls, because each of five servers needs one.
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
