// Package serve runs a gateway as a process of its own: its engine, its listeners,
// and how it begins, is told something else, and ends.
//
// It begins all or nothing: an address that is taken, a mistake in the file and an
// engine that is away are known before anybody is let in. It ends in the order in
// which the parts need each other: it says that it is not ready, waits, lets nobody
// in any more, answers those who are in, and closes the engine last.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
)

// Options are what a process is told.
type Options struct {
	Config *config.Config

	// Load reads the configuration again; nil: there is nothing to read.
	Load func() (*config.Config, error)
	// File is watched for changes, unless it is empty.
	File string
	// Again says when to read the configuration again besides; it may be nil.
	Again <-chan os.Signal

	// Health is the address of a listener that answers how it is, and nothing else;
	// empty: the admin API does, if there is one.
	Health string
	// Lazy lets it begin although its engine is away. Until that is there, requests
	// are answered as the rules say with on-down.
	Lazy bool

	Name string // in the engine's list of clients
	Log  *slog.Logger
}

// A Server is a gateway that listens already. Nobody is served before [Server.Run].
type Server struct {
	URL    string // of the gateway
	Admin  string // of the admin API; empty: there is none
	Health string // of what answers how it is; empty: nothing does

	o      Options
	log    *slog.Logger
	engine *opened
	client *interlock.Client
	events *admin.Events
	api    *admin.Server
	gate   *gateway.Gateway
	front  *door
	others []*door // of the admin API and of health
	certs  *certificates

	ending  atomic.Bool
	reloads reloads
}

// Open listens, and opens the engine. What is wrong is a [ListenError], an
// [EngineError], or a mistake in the configuration.
func Open(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{o: o, log: o.Log, events: admin.NewEvents()}
	defer func() {
		if err != nil {
			s.abandon()
		}
	}()
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	if s.engine, err = openEngine(ctx, o.Config.Engine, o.Lazy, o.Log); err != nil {
		return nil, err
	}
	s.client = interlock.New(s.engine.Engine, interlock.Name(o.Name), interlock.WithTrace(s.events.Trace()))
	if s.gate, err = gateway.New(o.Config, gateway.Options{Client: s.client, Log: o.Log, Events: s.tell}); err != nil {
		return nil, err
	}
	if err := s.furnish(); err != nil {
		return nil, err
	}
	return s, nil
}

// tell shows a request to those who watch by the admin API.
func (s *Server) tell(e gateway.Event) { s.events.Publish("request", e) }

// listen takes every address, so that one that is taken is known at once.
func (s *Server) listen(ctx context.Context) (err error) {
	cfg := s.o.Config
	if s.front, err = listen(ctx, "listen", cfg.Listen); err != nil {
		return err
	}
	s.URL = s.front.url(cfg.TLS != nil)
	if cfg.Admin != nil {
		if err := admin.CheckListen(cfg.Admin); err != nil {
			return err
		}
		d, err := listen(ctx, "admin", cfg.Admin.Listen)
		if err != nil {
			return err
		}
		s.others = append(s.others, d)
		s.Admin = d.url(cfg.Admin.TLS != nil)
		s.Health = s.Admin
	}
	if s.o.Health != "" {
		d, err := listen(ctx, "health", s.o.Health)
		if err != nil {
			return err
		}
		s.others = append(s.others, d)
		s.Health = d.url(false)
	}
	return nil
}

// furnish makes what is behind the listeners.
func (s *Server) furnish() (err error) {
	cfg := s.o.Config
	if s.front.server, err = s.gate.Server(); err != nil {
		return err
	}
	s.front.Listener = gateway.LimitListener(s.front.Listener, cfg.Limits.Conns)
	s.front.server.Handler = s.parting(s.gate)
	if cfg.TLS != nil {
		if s.certs, err = newCertificates(cfg.TLS, s.log); err != nil {
			return err
		}
		s.front.server.TLSConfig = s.certs.config()
	}
	return s.furnishAdmin()
}

// furnishAdmin makes the admin API. Without one, it is what answers how it is.
func (s *Server) furnishAdmin() (err error) {
	cfg, log := s.o.Config.Admin, s.log
	if cfg == nil {
		cfg, log = &config.Admin{ReadOnly: true}, slog.New(slog.DiscardHandler)
	}
	s.api, err = admin.New(admin.Options{
		Client: s.client, Engine: s.engine.Engine, Config: cfg, Log: log, Events: s.events,
		Rules: s.gate.Config, Reload: s.reloader(), Reloaded: s.reloads.last, Ready: s.ready, Degrades: s.degrades, Guards: s.gate.Stats,
	})
	if err != nil {
		return err
	}
	others := s.others
	if s.Admin != "" {
		others[0].server = quiet(s.api, s.log)
		if cfg.TLS != nil {
			certs, err := newCertificates(cfg.TLS, s.log)
			if err != nil {
				return fmt.Errorf("admin: %w", err)
			}
			others[0].server.TLSConfig = certs.config()
		}
		others = others[1:]
	}
	for _, d := range others {
		d.server = quiet(s.api.HealthHandler(), s.log)
	}
	return nil
}

// quiet returns a server that nobody can keep busy with a slow header.
func quiet(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Run serves until ctx is done, and then ends in the order that the package promises. It returns nil if
// nothing else was the reason.
func (s *Server) Run(ctx context.Context) error {
	doors := append([]*door{s.front}, s.others...)
	ended := make(chan error, len(doors))
	for _, d := range doors {
		go func() { ended <- d.serve() }() // until end, which closes them all
	}
	attending, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // until stop
		defer close(done)
		s.attend(attending)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	stop()
	<-done
	s.end()
	return err
}

// ready says why requests had better go elsewhere.
func (s *Server) ready() error {
	if s.ending.Load() {
		return errEnding
	}
	return nil
}

var errEnding = errors.New("it is ending")

// A ListenError is an address at which nobody can listen.
type ListenError struct {
	What string // listen, admin or health
	At   string
	Err  error
}

// Error implements error.
func (e *ListenError) Error() string { return fmt.Sprintf("%s: %s: %v", e.What, e.At, e.Err) }

// Unwrap returns what the system said.
func (e *ListenError) Unwrap() error { return e.Err }

// A door is a listener, and who is behind it.
type door struct {
	net.Listener
	server *http.Server
}

func listen(ctx context.Context, what, at string) (*door, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		if network, ok := errors.AsType[*net.OpError](err); ok {
			err = network.Err
		}
		return nil, &ListenError{what, at, err}
	}
	return &door{Listener: l}, nil
}

// url is how it is called from this machine.
func (d *door) url(tls bool) string {
	at := d.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// serve serves until the server is closed.
func (d *door) serve() error {
	if d.server.TLSConfig != nil {
		return d.server.ServeTLS(d.Listener, "", "")
	}
	return d.server.Serve(d.Listener)
}

// degrades tells whether the gateway does without its engine: then it is ready while
// that is away.
func (s *Server) degrades() bool { return withoutEngine(s.gate.Config()) }
