package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// readyWithin bounds how long the engine is asked how it is.
const readyWithin = 2 * time.Second

// Ready tells why requests should not be sent here now: it is closing, or its engine
// does not answer. It is nil if they should.
func (g *Gateway) Ready() error {
	p := g.plan.Load()
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done && g.plan.Load() == p {
		return errors.New("gateway: it is closing")
	}
	prober := g.options.Client.Engine().Capabilities().Prober
	if prober == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	health, err := prober.Probe(ctx)
	if err == nil && !answers(health) {
		err = errors.New("no node of it answers")
	}
	if err != nil {
		return fmt.Errorf("gateway: the engine: %w", err)
	}
	return nil
}

// answers tells whether a node of an engine does.
func answers(h engine.Health) bool {
	return slices.ContainsFunc(h.Nodes, func(n engine.Node) bool { return n.Err == nil }) || slices.ContainsFunc(h.Parts, answers)
}

// HealthHandler answers /livez, which is well for as long as the process is, and
// /readyz and /healthz, which are as [Gateway.Ready] says. It is for a listener of its
// own, or for in front of the gateway: the service behind may have such paths, too.
func (g *Gateway) HealthHandler() http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, err error) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "ok"
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = "failed" // why may tell of addresses: ask Ready
		}
		_, _ = fmt.Fprintln(w, text) // nobody asks twice
	}
	ready := func(w http.ResponseWriter, _ *http.Request) { say(w, g.Ready()) }
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { say(w, nil) })
	mux.HandleFunc("GET /readyz", ready)
	mux.HandleFunc("GET /healthz", ready)
	return mux
}
