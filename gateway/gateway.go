// Package gateway protects services in any language: a reverse proxy that locks,
// guards and answers by rules, with no change to what is behind it.
//
//	cfg, err := config.Parse("interlock.yaml", text)
//	…
//	g, err := gateway.New(cfg, gateway.Options{Client: client})
//	…
//	http.ListenAndServe(cfg.Listen, g)
//
// A request that no rule matches passes as through [httputil.ReverseProxy]. One
// that a rule matches gets what [interlockhttp] promises, with the service behind
// as its handler: it is never sent twice, and what became of it is told apart: it
// was not sent, it was answered, or nobody knows.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway/config"
)

// Options are what a gateway needs besides its configuration.
type Options struct {
	// Client is whose engine the locks and records are in. It is required, and
	// not closed.
	Client *interlock.Client

	// Log gets what operators should know. The default is slog.Default.
	Log *slog.Logger

	// Events gets what happens, one call each, if it is not nil. It must not block.
	Events func(Event)
}

// An Event is something that happened to a request, for logs and pages. Keys in
// it are as they came: show them escaped.
type Event struct {
	Rule    string // its name
	Verb    string // lock, once or submit
	Key     string
	Outcome string // ran, replayed, refused, waited, unguarded, shadowed, unknown, failed
	Code    string // of the problem, if it was refused
	Method  string
	Path    string
	Status  int
	Took    float64 // seconds
}

// A Gateway is a handler that can be given other rules while it works.
type Gateway struct{}

// New returns a gateway that does what cfg says.
func New(cfg *config.Config, o Options) (*Gateway, error) {
	return nil, errors.New("gateway: not yet")
}

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Config returns what it does now.
func (g *Gateway) Config() *config.Config { return nil }

// Reload makes it do what cfg says from the next request on. If it cannot,
// nothing changes. What is at work ends by the rules it began with.
func (g *Gateway) Reload(cfg *config.Config) error { return nil }

// Close waits until nobody is at work, or until ctx is done.
func (g *Gateway) Close(ctx context.Context) error { return nil }
