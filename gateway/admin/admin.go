// Package admin is an HTTP API to inspect locks and claims, and to release or resolve
// them.
//
//	a, err := admin.New(admin.Options{Client: client, Engine: e, Config: cfg.Admin})
//	…
//	http.Serve(listener, a)
//
// The API serves its OpenAPI document at /openapi.json. [config.Admin] grants access by
// tokens; [NewToken] makes one. Clients on this machine need a token, too, because a local
// proxy may forward requests from anywhere. [CheckListen] refuses an address that other
// machines can reach without tokens and TLS.
//
// # What is not promised
//
// Lists are not snapshots: locks that are acquired or released meanwhile may be missing.
// Events are those of this process; list the locks to see those of others.
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
	"github.com/interlock-go/interlock/observe/logs"
)

// Options are the parts of a process that the API reports on, and its access rules.
type Options struct {
	Client *interlock.Client // required; Close does not close it
	Engine engine.Engine     // the client's engine; required
	Config *config.Admin     // the access rules; required

	// Rules returns the gateway's configuration. The API shows and changes the keys of its
	// namespace only. nil: this process has no gateway, and the API shows all keys of the
	// client.
	Rules func() *config.Config
	// Reload reads the configuration file again. nil: there is no file.
	Reload func(context.Context) error
	// Reloaded returns the result of the last reload, however it was requested. nil, or a
	// nil result: only reloads through this API are known.
	Reloaded func() *Reload
	// Ready returns why requests should go elsewhere, such as a shutdown. nil: readiness
	// depends on the engine only.
	Ready func() error
	// Degrades reports whether the gateway can work without its engine. Then it stays
	// ready while the engine is down. nil: it cannot.
	Degrades func() bool
	// Guards returns the counters of this process's guards, by name. nil: it has none.
	Guards func() map[string]guard.Stats

	// Levels are the levels of the log, which the API shows and changes. nil: the API has
	// no access to levels.
	Levels *logs.Levels

	// Metrics serves /metrics to clients with a role. nil: the path does not exist.
	Metrics http.Handler

	// Events is the source of the event stream. Give the client its [Events.Trace]. nil:
	// the stream contains only audit entries and the events of [Server.Publish].
	Events *Events

	Prefix string // the start of every path, without a final slash. Default: none
	Log    *slog.Logger
}

// A Server is the API as a handler. Its paths, below Prefix, are /api/v1/…,
// /openapi.json, /metrics, /livez, /readyz and /healthz.
type Server struct {
	o        Options
	log      *slog.Logger
	began    time.Time
	auth     auth
	audit    *auditLog
	events   *Events
	mux      *http.ServeMux
	api      huma.API
	document []byte
	health   healthCache
}

// New returns the API. Call Close when it is no longer used.
func New(o Options) (*Server, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("admin: Options.Client is nil")
	case o.Engine == nil:
		return nil, errors.New("admin: Options.Engine is nil: set it to the client's engine")
	case o.Config == nil:
		return nil, errors.New("admin: Options.Config is nil: set it to the access rules")
	case o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/") || strings.ContainsAny(o.Prefix, "{} ")):
		return nil, fmt.Errorf("admin: the prefix %q is not a path: write it like %q", o.Prefix, "/admin")
	}
	s := &Server{o: o, log: o.Log, events: o.Events, began: time.Now()}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.events == nil {
		s.events = NewEvents()
	}
	var err error
	if s.auth, err = newAuth(o.Config); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	// The file is opened last, because nothing after it can fail and leave it open.
	if s.audit, err = openAuditLog(o.Config.Audit, s.log, s.events); err != nil {
		return nil, err
	}
	client := s.client
	s.events.client.Store(&client)
	if len(s.auth.keys) == 0 && (o.Config.Open || o.Config.Insecure) {
		s.log.Warn("the admin API has no tokens: every program on this machine may read and change everything; see admin.tokens")
	}
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	// Probes come before admit: a load balancer has no token, and must not run into the
	// rate limit.
	if check, ok := s.probe(r); ok {
		check(w, r)
		return
	}
	r, p := s.admit(w, r)
	if p != nil {
		p.write(w)
		return
	}
	if r.URL.Path == s.o.Prefix+LoginPath {
		s.login(w, r)
		return
	}
	// ServeMux would answer in plain text, and clients of the API expect a Problem.
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.noRoute(r).write(w)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// noRoute returns the problem of a request whose path or method has no operation.
func (s *Server) noRoute(r *http.Request) *Problem {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		// ServeMux cannot list the methods of a path, so each one is tried.
		trial := r.Clone(r.Context())
		trial.Method = method
		if _, pattern := s.mux.Handler(trial); pattern != "" {
			return problem(MethodNotAllowed, "%s does not allow the method %s; see %s/openapi.json", sanitize(r.URL.Path), sanitize(r.Method), s.o.Prefix)
		}
	}
	return problem(NotFound, "no operation has the path %s; see %s/openapi.json", sanitize(r.URL.Path), s.o.Prefix)
}

// client returns the client of the gateway's namespace, whose locks and records the API
// shows. A reload may change the namespace.
func (s *Server) client() *interlock.Client {
	if s.o.Rules != nil {
		if cfg := s.o.Rules(); cfg != nil && cfg.Namespace != "" {
			return s.o.Client.With(interlock.Prefix(cfg.Prefix()))
		}
	}
	return s.o.Client
}

// records returns the records of the gateway's namespace. An engine may have none.
func (s *Server) records() (*guard.Records, error) {
	all, err := guard.NewRecords(s.client())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, problem(NotSupported, "%v", errNoRecords)
	}
	return all, err
}

// Publish adds an event to the stream. The caller must not modify data afterwards.
func (s *Server) Publish(kind string, data any) { s.events.Publish(kind, data) }

// Close ends the event streams, and closes the audit log.
func (s *Server) Close() error {
	s.events.close()
	return s.audit.close()
}
