// Package site serves the demo for a browser: the page, a shop, the same shop behind
// Interlock, and the admin API, all in one process.
package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/cases"
	"github.com/interlock-go/interlock/cmd/interlock/internal/demo/shop"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/gateway"
	"github.com/interlock-go/interlock/gateway/admin"
	"github.com/interlock-go/interlock/observe/prom"
)

// Options configure [Open].
type Options struct {
	Listen string        // a loopback host and a port
	Engine engine.Engine // of locks and records; the caller closes it
	Name   string        // of the engine, in the configuration
	Log    *slog.Logger  // default: no log
}

// ErrLoopback means that other machines could reach the address. The demo refuses it,
// because it has no authentication.
var ErrLoopback = errors.New("the demo only listens on loopback, because its admin API has no authentication")

// A Site is a demo whose listeners are open.
type Site struct {
	URL    string // the URL of the page, and of the shop behind Interlock
	Shop   string // the URL of the shop itself
	Config string // the configuration of the gateway, as YAML

	front, back *http.Server    // front serves the page and the gateway, back the shop
	listeners   [2]net.Listener // of front and back; the servers close them
	player      *cases.Player
	client      *interlock.Client
	gate        *gateway.Gateway // in front of the shop
	api         *admin.Server    // the page uses it, too
	metrics     *prom.Collector  // the page shows some of them
}

// Open opens the listeners, so that a port in use is an error at once. [Site.Serve]
// serves requests.
func Open(ctx context.Context, o Options) (*Site, error) {
	if err := loopback(o.Listen); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	front, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	back, err := listenNext(ctx, front.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, errors.Join(err, front.Close())
	}
	s := &Site{URL: "http://" + front.Addr().String(), Shop: "http://" + back.Addr().String(), listeners: [2]net.Listener{front, back}}
	if err := s.build(o); err != nil {
		return nil, errors.Join(err, front.Close(), back.Close())
	}
	return s, nil
}

// loopback refuses addresses that other machines can reach.
func loopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ErrLoopback
	}
	return nil
}

// listenNext listens on the next port, which is easy to remember, or else on any port.
func listenNext(ctx context.Context, front *net.TCPAddr) (net.Listener, error) {
	next := *front
	next.Port++
	var l net.ListenConfig
	if back, err := l.Listen(ctx, "tcp", next.String()); err == nil {
		return back, nil
	}
	next.Port = 0
	return l.Listen(ctx, "tcp", next.String())
}

// build creates the shop, the gateway and the HTTP servers.
func (s *Site) build(o Options) error {
	goods := shop.New()
	s.client = interlock.New(o.Engine, interlock.Name("interlock demo"))
	s.metrics = prom.New(s.client)
	s.player = cases.New(goods, s.client)
	s.player.SetURLs(s.Shop, s.URL)
	s.Config = Config(strings.TrimPrefix(s.URL, "http://"), s.Shop, o.Name)
	if err := s.buildGateway(o); err != nil {
		return err
	}
	// Observe wraps the shop itself, so that direct requests are recorded, too.
	s.back = server(s.player.Observe(goods))
	s.front = server(s.routes())
	return nil
}

// server returns an HTTP server whose timeouts protect it from slow clients.
func server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // browsers often close connections
}

// Serve serves until ctx is done, and then closes all parts.
func (s *Site) Serve(ctx context.Context) error {
	ended := make(chan error, 2)                           // buffered: the second server ends after Serve has returned
	go func() { ended <- s.front.Serve(s.listeners[0]) }() // both end with close below
	go func() { ended <- s.back.Serve(s.listeners[1]) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	return errors.Join(err, s.close())
}

// closeTimeout limits how long pending requests may take after the end.
const closeTimeout = time.Second

// close ends open connections at once, and then releases the locks.
func (s *Site) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	// An open page keeps its event stream open, so there is no graceful shutdown. Only
	// the release of locks matters.
	_ = s.api.Close()
	_ = s.front.Close()
	_ = s.back.Close()
	s.player.Close()
	s.metrics.Close()
	err := s.gate.Close(ctx)
	if errClient := s.client.Close(ctx); err == nil {
		err = errClient
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // locks that were not released expire
	}
	if err != nil {
		return fmt.Errorf("close the demo: %w", err)
	}
	return nil
}
