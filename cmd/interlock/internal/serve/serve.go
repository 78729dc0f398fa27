// Package serve runs a gateway as a process: it opens the engine and the listeners,
// reloads the configuration, and shuts down in order.
//
// Open succeeds as a whole or not at all: an address in use, a mistake in the file and
// an unreachable engine are errors before the first request is accepted. A shutdown
// makes /readyz fail, waits, stops accepting connections, answers the pending requests,
// and closes the engine last.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/observe/logs"
	"github.com/interlock-go/interlock/observe/prom"
)

// Options configure [Open].
type Options struct {
	Config *config.Config

	// Load reads the configuration for a reload; nil: reloads are not possible.
	Load func() (*config.Config, error)
	// File is watched for changes, unless it is empty. Content is the content of the file
	// from which Config was read.
	File    string
	Content []byte
	// Reload requests a reload, such as by SIGHUP; it may be nil.
	Reload <-chan os.Signal

	// Health is the address of a listener that serves only health checks; empty: the
	// admin API serves them, if it is enabled.
	Health string
	// Metrics is the address of a listener that serves only /metrics, without
	// authentication; empty: that of the configuration, if it has one.
	Metrics string
	// Lazy starts the gateway although its engine is unreachable. Until the engine is
	// reachable, on-down of each rule decides.
	Lazy bool

	Name string // the client's name on the engine
	Log  *slog.Logger

	// Levels are the levels of Log; nil: they are fixed. The configuration and the admin API
	// set them. With Verbose, components without a level of their own are logged at debug.
	Levels  *logs.Levels
	Verbose bool

	// ClientOptions are further options of the client. Wrap, if not nil, wraps the handler
	// of the gateway, and Sending is called with each request to an upstream.
	ClientOptions []interlock.Option
	Wrap          func(http.Handler) http.Handler
	Sending       func(*http.Request)

	// ExtProc serves the streams of Envoy's filter ext_proc instead of HTTP. Envoy sends the
	// requests to its own upstreams.
	ExtProc bool
}

// A Server is a gateway whose listeners are open. [Server.Run] serves requests.
type Server struct {
	URL   string // of the gateway
	Admin string // of the admin API; empty: disabled

	// Login is a link that signs a browser in, and TokenFile the file with its token. Both
	// are empty if the configuration has tokens.
	Login     string
	TokenFile string

	Health  string // of the health checks; empty: disabled
	Metrics string // of the listener for /metrics; empty: none

	o      Options
	log    *slog.Logger
	engine *openedEngine // nil until Open has opened it, as are client, api and gate
	client *interlock.Client
	events *admin.Events // made first: the client's trace and the gateway publish to it
	api    *admin.Server
	gate   *gateway.Gateway
	front  *listener
	others []*listener   // for the admin API, health checks and metrics
	certs  *certificates // of the front; nil: plain HTTP

	metrics   http.Handler    // set by buildAdmin
	collector *prom.Collector // of metrics

	stopping atomic.Bool // set once, by shutdown
	reloads  reloads
}

// Open opens the listeners and the engine. It fails with a [ListenError], an
// [EngineError], or a mistake in the configuration.
func Open(ctx context.Context, o Options) (_ *Server, err error) {
	s := &Server{o: o, log: o.Log, events: admin.NewEvents()}
	defer func() {
		if err != nil {
			s.closeAll()
		}
	}()
	o.setLevels(o.Config.Log)
	if o.ExtProc {
		if err := checkExtProc(o.Config); err != nil {
			return nil, err
		}
	}
	if err := s.listen(ctx); err != nil {
		return nil, err
	}
	// The engine comes after the listeners: connecting may take seconds, a port in use
	// shows at once.
	if s.engine, err = openEngine(ctx, o.Config.Engine, o.Lazy, o.Log); err != nil {
		return nil, err
	}
	opts := append(o.ClientOptions, interlock.Name(o.Name), interlock.WithTrace(s.events.Trace()), logs.To(o.Log))
	s.client = interlock.New(s.engine.Engine, opts...)
	if s.gate, err = gateway.New(o.Config, gateway.Options{Client: s.client, Log: o.Log, Events: s.publish, Sending: o.Sending, Transport: s.transport()}); err != nil {
		return nil, err
	}
	if err := s.buildHandlers(); err != nil {
		return nil, err
	}
	return s, nil
}

// publish sends a request to the event stream of the admin API.
func (s *Server) publish(e gateway.Event) { s.events.Publish("request", e) }

// listen opens all listeners before anything else, so that an address in use is an error
// at once.
func (s *Server) listen(ctx context.Context) (err error) {
	cfg := s.o.Config
	if s.front, err = listen(ctx, "listen", cfg.Listen); err != nil {
		return err
	}
	s.URL = s.front.url(cfg.TLS != nil)
	if s.o.ExtProc {
		s.URL = strings.Replace(s.URL, "http", "grpc", 1)
	}
	if cfg.Admin != nil {
		// Before the port opens: an exposed API must not accept one connection.
		if err := admin.CheckListen(cfg.Admin); err != nil {
			return err
		}
		l, err := s.listenAlso(ctx, "admin", cfg.Admin.Listen)
		if err != nil {
			return err
		}
		s.others = append(s.others, l)
		s.Admin = l.url(cfg.Admin.TLS != nil)
		s.Health = s.Admin // unless the health checks have their own listener
	}
	if s.o.Health != "" {
		l, err := s.listenAlso(ctx, "health", s.o.Health)
		if err != nil {
			return err
		}
		s.others = append(s.others, l)
		s.Health = l.url(false)
	}
	if at := cmp.Or(s.o.Metrics, cfg.Metrics); at != "" {
		l, err := s.listenAlso(ctx, metricsListener, at)
		if err != nil {
			return err
		}
		s.others = append(s.others, l)
		s.Metrics = l.url(false)
	}
	return nil
}

// listenAlso opens a further address. If an earlier listener of this gateway has it, the
// error names that listener.
func (s *Server) listenAlso(ctx context.Context, what, at string) (*listener, error) {
	l, err := listen(ctx, what, at)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	for _, other := range append([]*listener{s.front}, s.others...) {
		if other.Addr().String() == at {
			return nil, &ListenError{what, at, fmt.Errorf("%s already uses this address", other.what)}
		}
	}
	return nil, err
}

// buildHandlers creates the HTTP servers of the listeners.
func (s *Server) buildHandlers() (err error) {
	cfg := s.o.Config
	s.front.Listener = gateway.LimitListener(s.front.Listener, cfg.Limits.Conns)
	if s.o.ExtProc {
		if err := s.buildExtProc(); err != nil {
			return err
		}
		return s.buildAdmin()
	}
	if s.front.server, err = s.gate.Server(); err != nil {
		return err
	}
	// The wrapper needs the server's state, which the gateway does not know.
	var front http.Handler = s.gate
	if s.o.Wrap != nil {
		front = s.o.Wrap(front)
	}
	s.front.server.Handler = s.closeKeepAlives(front)
	if cfg.TLS != nil {
		if s.certs, err = newCertificates(cfg.TLS, s.log); err != nil {
			return err
		}
		s.front.server.TLSConfig = s.certs.config()
	}
	return s.buildAdmin()
}

// buildAdmin creates the admin API. If it is disabled, it still serves the health checks.
func (s *Server) buildAdmin() (err error) {
	cfg, log := s.o.Config.Admin, s.log
	if cfg == nil {
		cfg, log = &config.Admin{ReadOnly: true}, slog.New(slog.DiscardHandler)
	} else {
		cfg = s.withToken(cfg)
	}
	s.metrics = s.newMetrics()
	s.api, err = admin.New(admin.Options{
		Client: s.client, Engine: s.engine.Engine, Config: cfg, Log: log, Events: s.events,
		Rules: s.gate.Config, Reload: s.reloader(), Reloaded: s.reloads.last, Ready: s.ready, Degrades: s.degrades, Guards: s.gate.Stats,
		Levels: s.o.Levels, Metrics: s.metrics,
	})
	if err != nil {
		return err
	}
	others := s.others
	if s.Admin != "" {
		// Method listen appends the listener of the admin API first.
		others[0].server = newHTTPServer(s.api, s.log)
		if cfg.TLS != nil {
			certs, err := newCertificates(cfg.TLS, s.log)
			if err != nil {
				return fmt.Errorf("admin: %w", err)
			}
			others[0].server.TLSConfig = certs.config()
		}
		others = others[1:]
	}
	// These listeners may face other machines, so each serves one thing only.
	for _, l := range others {
		l.server = newHTTPServer(s.api.HealthHandler(), s.log)
		if l.what == metricsListener {
			l.server.Handler = onlyMetrics(s.metrics)
		}
	}
	return nil
}

// newHTTPServer returns a server whose timeouts protect it from slow clients.
func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Run serves until ctx is done, and then shuts down as the package comment says. It
// returns nil, unless a listener failed.
func (s *Server) Run(ctx context.Context) error {
	all := append([]*listener{s.front}, s.others...)
	ended := make(chan error, len(all)) // buffered: each goroutine ends, though Run reads one error
	for _, l := range all {
		go func() { ended <- l.serve() }() // until shutdown, which closes them all
	}
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // until stop
		defer close(done)
		s.watchConfig(watching)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	stop()
	// No watcher may reload a gateway that is closing.
	<-done
	s.shutdown()
	return err
}

// ready returns an error during a shutdown, so that load balancers stop sending.
func (s *Server) ready() error {
	if s.stopping.Load() {
		return errStopping
	}
	return nil
}

// errStopping is the reason that /readyz shows.
var errStopping = errors.New("the gateway is shutting down")

// A ListenError reports an address that cannot be listened on.
type ListenError struct {
	What string // listen, admin, health or metrics
	At   string
	Err  error
}

// Error implements error.
func (e *ListenError) Error() string { return fmt.Sprintf("%s: %s: %v", e.What, e.At, e.Err) }

// Unwrap returns the system's error.
func (e *ListenError) Unwrap() error { return e.Err }

// A listener is an open address and the server of its connections.
type listener struct {
	net.Listener
	what   string // as in ListenError
	server *http.Server
	rpc    *grpc.Server // instead of server, for ext_proc
}

// listen opens an address. The error contains the system's reason without Go's "listen
// tcp" prefix.
func listen(ctx context.Context, what, at string) (*listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		if network, ok := errors.AsType[*net.OpError](err); ok {
			err = network.Err
		}
		return nil, &ListenError{what, at, err}
	}
	return &listener{Listener: l, what: what}, nil
}

// url returns the address as a client on this machine uses it.
func (l *listener) url(tls bool) string {
	at := l.Addr().(*net.TCPAddr)
	host := at.IP.String()
	// 0.0.0.0 is an address to listen on, not one to open in a browser.
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// serve returns when the server is closed.
func (l *listener) serve() error {
	if l.rpc != nil {
		return l.rpc.Serve(l.Listener)
	}
	if l.server.TLSConfig != nil {
		return l.server.ServeTLS(l.Listener, "", "") // certificates come from TLSConfig
	}
	return l.server.Serve(l.Listener)
}

// degrades reports whether the gateway serves requests without its engine. Then /readyz
// ignores the engine.
func (s *Server) degrades() bool { return allDegrade(s.gate.Config()) }
