// Package admin is the API by which people and programs look at locks and claims,
// and take them away.
package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway/config"
)

// Options are what the API is about.
type Options struct {
	Client *interlock.Client // required; not closed
	Engine engine.Engine     // the one the client has; required
	Config *config.Admin     // who may do what; required

	// Rules returns what the gateway does now; nil: there is no gateway.
	Rules func() *config.Config
	// Reload reads the configuration again; nil: it cannot be.
	Reload func(context.Context) error

	Prefix string // of every path, without a slash at the end; the default is none
	Log    *slog.Logger
}

// A Server is the API as a handler. Everything is under Prefix: /api/v1/…,
// /openapi.json, /livez, /readyz and /healthz.
type Server struct{}

// New returns the API.
func New(o Options) (*Server, error) { return nil, errors.New("admin: not yet") }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Tell adds something that happened to the stream of events.
func (s *Server) Tell(kind string, what any) {}

// Close ends the streams.
func (s *Server) Close() error { return nil }
