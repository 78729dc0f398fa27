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

// readyTimeout bounds the probe of the engine.
const readyTimeout = 2 * time.Second

// Ready returns nil if a load balancer should send requests here. It returns an error if
// the gateway is closing or its engine does not answer.
func (g *Gateway) Ready() error {
	s := g.current.Load()
	s.mu.Lock()
	retired := s.retired
	s.mu.Unlock()
	if retired && g.current.Load() == s { // otherwise a reload has just replaced it
		return errors.New("gateway: the gateway is closing")
	}
	prober := g.options.Client.Engine().Capabilities().Prober
	if prober == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	health, err := prober.Probe(ctx)
	if err == nil && !answers(health) {
		err = errors.New("none of its nodes answers")
	}
	if err != nil {
		return fmt.Errorf("gateway: the engine: %w", err)
	}
	return nil
}

// answers reports whether a node of the engine answered the probe.
func answers(h engine.Health) bool {
	// A quorum or standby reports its engines as parts.
	return slices.ContainsFunc(h.Nodes, func(n engine.Node) bool { return n.Err == nil }) || slices.ContainsFunc(h.Parts, answers)
}

// HealthHandler answers /livez, which is ok while the process runs, and /readyz and
// /healthz, which are ok while [Gateway.Ready] returns nil. Serve it on its own listener
// or in front of the gateway: the upstream may have the same paths.
func (g *Gateway) HealthHandler() http.Handler {
	mux := http.NewServeMux()
	respond := func(w http.ResponseWriter, err error) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "ok"
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = "failed" // without the reason: it may contain addresses, and the client needs no token
		}
		_, _ = fmt.Fprintln(w, text) // fails only if the client has left
	}
	ready := func(w http.ResponseWriter, _ *http.Request) { respond(w, g.Ready()) }
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { respond(w, nil) })
	mux.HandleFunc("GET /readyz", ready)
	mux.HandleFunc("GET /healthz", ready)
	return mux
}
