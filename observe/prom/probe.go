package prom

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Probes of the engine. They run in the background: a scrape shows the last result.
const (
	probeEvery = 15 * time.Second
	probeTime  = 5 * time.Second
)

// A prober asks an engine for the condition of its servers, also of those that get no
// requests, such as replicas.
type prober struct {
	engine engine.Prober   // nil if the engine has no servers
	ctx    context.Context //nolint:containedctx // of probes in the background
	cancel context.CancelFunc

	mu      sync.Mutex
	running sync.WaitGroup
	busy    bool
	began   time.Time
	last    []engine.Node
}

func newProber(e engine.Prober) *prober {
	p := &prober{engine: e}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// nodes returns the result of the last probe, and begins another if that is too old.
// report is called with the result of the new one.
func (p *prober) nodes(report func([]engine.Node)) []engine.Node {
	if p.engine == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy && p.ctx.Err() == nil && (p.began.IsZero() || time.Since(p.began) >= probeEvery) {
		p.busy, p.began = true, time.Now()
		p.running.Go(func() { p.probe(report) }) // close waits for it
	}
	return p.last
}

func (p *prober) probe(report func([]engine.Node)) {
	ctx, cancel := context.WithTimeout(p.ctx, probeTime)
	defer cancel()
	health, err := p.engine.Probe(ctx)
	var nodes []engine.Node
	if err == nil {
		nodes = serversOf(health, nil)
	}
	p.mu.Lock()
	p.busy, p.last = false, nodes
	p.mu.Unlock()
	report(nodes)
}

// close ends the probes.
func (p *prober) close() {
	p.mu.Lock() // with the mutex, so that the method nodes begins no probe after cancel
	p.cancel()
	p.mu.Unlock()
	p.running.Wait()
}

// serversOf appends the servers of an engine and its parts, each once. Sentinels keep no
// locks, and an embedded engine has no address.
func serversOf(h engine.Health, nodes []engine.Node) []engine.Node {
	for _, n := range h.Nodes {
		known := slices.ContainsFunc(nodes, func(k engine.Node) bool { return k.Addr == n.Addr })
		if n.Addr != "" && n.Role != engine.Watcher && !known && len(nodes) < maxNodes {
			nodes = append(nodes, n)
		}
	}
	for _, part := range h.Parts {
		nodes = serversOf(part, nodes)
	}
	return nodes
}

// answers reports whether a server answered a probe. Its report may be incomplete
// nevertheless.
func answers(n *engine.Node) bool { return n.Err == nil || n.Latency > 0 }
