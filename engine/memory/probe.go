package memory

import (
	"context"
	"runtime"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Probe implements [engine.Prober]. The one node is this process.
func (e *Engine) Probe(ctx context.Context) (engine.Health, error) {
	if err := ctx.Err(); err != nil {
		return engine.Health{}, err
	}
	// The settings are in Redis's terms, so that callers can compare engines. Offset is the
	// time that Step has added.
	n := engine.Node{
		Addr: "in process", ID: e.id, Role: engine.Primary, Version: runtime.Version(), Uptime: time.Since(e.start),
		Offset: time.Duration(e.now() - time.Now().UnixNano()), AppendOnly: "no", Eviction: "noeviction",
	}
	return engine.Health{Topology: engine.Embedded, Nodes: []engine.Node{n}}, nil
}
