package backend

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
)

func openEtcd(ctx context.Context, url string, lazy bool) (Engine, error) {
	return opened(etcd.Open(ctx, url, with(lazy, etcd.Lazy)...))
}

// probeEtcd examines a cluster. With a password, Open asks the cluster, so it fails if no
// member can be reached; the report then has one node.
func probeEtcd(ctx context.Context, url string) (engine.Health, error) {
	e, err := etcd.Open(ctx, url, etcd.Lazy())
	if errors.Is(err, engine.ErrUnavailable) && ctx.Err() == nil {
		return of(engine.Etcd)(engine.Health{Topology: engine.Standalone, Nodes: []engine.Node{{Addr: hosts(url), Err: err}}}, nil)
	}
	if err != nil {
		return engine.Health{}, err
	}
	defer e.Close() //nolint:errcheck // the report is done
	return of(engine.Etcd)(e.Probe(ctx))
}
