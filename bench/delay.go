package main

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

// A delayed engine simulates a server behind a network with a delay: it sleeps before each
// call. A delaying proxy in front of each of the quorum's five servers would need more
// CPU than the measured calls.
type delayed struct{ *redisengine.Engine }

// Acquire implements [engine.Engine].
func (d delayed) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	time.Sleep(networkDelay)
	return d.Engine.Acquire(ctx, r)
}

// Release implements [engine.Engine].
func (d delayed) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	time.Sleep(networkDelay)
	return d.Engine.Release(ctx, r)
}

// Raise implements [engine.Fencer].
func (d delayed) Raise(ctx context.Context, r engine.Request, fence uint64) error {
	time.Sleep(networkDelay)
	return d.Engine.Raise(ctx, r, fence)
}

// Capabilities implements [engine.Engine].
func (d delayed) Capabilities() engine.Capabilities {
	c := d.Engine.Capabilities()
	c.Fencer = d
	return c
}
