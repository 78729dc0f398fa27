package backend

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
)

func openRedis(ctx context.Context, url string, lazy bool) (Engine, error) {
	return opened(redisengine.Open(ctx, url, with(lazy, redisengine.Lazy)...))
}

func probeRedis(ctx context.Context, url string) (engine.Health, error) {
	return redisengine.Probe(ctx, url)
}
