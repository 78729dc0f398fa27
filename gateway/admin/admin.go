// Package admin is the API by which people and programs look at locks and claims,
// and take them away.
//
//	a, err := admin.New(admin.Options{Client: client, Engine: e, Config: cfg.Admin})
//	…
//	http.Serve(listener, a)
//
// It is described by an OpenAPI document, which it serves at /openapi.json. Who may
// do what is for [config.Admin] to say: without tokens everybody on this machine may
// do everything, and nobody else anything. [CheckListen] refuses to let it be reached
// from elsewhere without tokens and TLS.
//
// # What is not promised
//
// Lists are what was there while they were made: locks that are taken or released
// meanwhile may be missing. Events are those of this process; other processes' locks
// are seen by looking.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/guard"
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
	// Reloaded returns what came of the last reload, by whatever way it was asked for;
	// nil, or one that returns nil: nothing but what this API did is known.
	Reloaded func() *Reload
	// Ready says why requests had better go elsewhere, as that the gateway ends;
	// nil: nothing but the engine counts.
	Ready func() error
	// Degrades tells whether the gateway does without its engine: then it is ready
	// while that is away; nil: it does not.
	Degrades func() bool
	// Guards returns what the guards of this process have counted, by name; nil:
	// there are none.
	Guards func() map[string]guard.Stats

	// Events are what the stream is made of. Give the client that they come from
	// their [Events.Trace]. nil: there are only the API's own, and what Tell adds.
	Events *Events

	Prefix string // of every path, without a slash at the end; the default is none
	Log    *slog.Logger
}

// A Server is the API as a handler. Everything is under Prefix: /api/v1/…,
// /openapi.json, /livez, /readyz and /healthz.
type Server struct {
	o        Options
	log      *slog.Logger
	records  *guard.Records // nil if the engine keeps none
	began    time.Time
	auth     auth
	audit    *auditLog
	events   *Events
	mux      *http.ServeMux
	api      huma.API
	document []byte
	health   healthCache
}

// New returns the API. What it opens, Close closes.
func New(o Options) (*Server, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("admin: there is no client: set Options.Client")
	case o.Engine == nil:
		return nil, errors.New("admin: there is no engine: set Options.Engine to the client's")
	case o.Config == nil:
		return nil, errors.New("admin: nothing says who may do what: set Options.Config")
	case o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/") || strings.ContainsAny(o.Prefix, "{} ")):
		return nil, fmt.Errorf("admin: the prefix %q is none: write it like %q", o.Prefix, "/admin")
	}
	s := &Server{o: o, log: o.Log, events: o.Events, began: time.Now()}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.events == nil {
		s.events = NewEvents()
	}
	var err error
	if s.records, err = guard.NewRecords(o.Client); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if s.auth, err = newAuth(o.Config); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	if s.audit, err = openAuditLog(o.Config.Audit, s.log, s.events); err != nil {
		return nil, err
	}
	if len(s.auth.keys) == 0 {
		s.log.Warn("the admin API asks for no token: everybody on this machine may look and change; see admin.tokens")
	}
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	if check, ok := s.probe(r); ok {
		check(w, r)
		return
	}
	r, p := s.admit(w, r)
	if p != nil {
		p.write(w)
		return
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.noRoute(r).write(w)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// lost says that nothing is at a path, or not for that method.
func (s *Server) noRoute(r *http.Request) *Problem {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			return problem(MethodNotAllowed, "%s is not for %s: see %s/openapi.json", sanitize(r.URL.Path), sanitize(r.Method), s.o.Prefix)
		}
	}
	return problem(NotFound, "there is nothing at %s: see %s/openapi.json", sanitize(r.URL.Path), s.o.Prefix)
}

// Tell adds something that happened to the stream of events. It must not be changed
// any more.
func (s *Server) Publish(kind string, what any) { s.events.Publish(kind, what) }

// Close ends the streams and the audit trail's file.
func (s *Server) Close() error {
	s.events.close()
	return s.audit.close()
}
