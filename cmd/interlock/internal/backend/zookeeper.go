package backend

import (
	"context"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/zookeeper"
)

func openZooKeeper(ctx context.Context, url string, lazy bool) (Engine, error) {
	return opened(zookeeper.Open(ctx, url, with(lazy, zookeeper.Lazy)...))
}

func probeZooKeeper(ctx context.Context, url string) (engine.Health, error) {
	return of(engine.ZooKeeper)(zookeeper.Probe(ctx, url))
}
