// Package site is the demo as somebody sees it in a browser: the page, a shop, the
// same shop behind Interlock, and the admin API, all in one process.
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
)

// Options are what the demo can be told.
type Options struct {
	Listen string        // host:port, on loopback
	Engine engine.Engine // where locks and records are; not closed
	Name   string        // of the engine, as a configuration has it
	Log    *slog.Logger  // the default is silence
}

// ErrLoopback means that somebody wants the demo to be seen from elsewhere. It
// has no passwords.
var ErrLoopback = errors.New("the demo listens on loopback only, since anybody who reaches it may take locks away")

// A Site is a demo that listens already.
type Site struct {
	URL    string // of the page, and of the shop behind Interlock
	Shop   string // of the shop itself
	Config string // what the gateway was told

	front, back *http.Server
	doors       [2]net.Listener
	player      *cases.Player
	client      *interlock.Client
	gate        *gateway.Gateway
	api         *admin.Server
}

// Open listens, so that a port that is taken is known at once. Nobody is served
// before [Site.Serve].
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
	back, err := beside(ctx, front.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, errors.Join(err, front.Close())
	}
	s := &Site{URL: "http://" + front.Addr().String(), Shop: "http://" + back.Addr().String(), doors: [2]net.Listener{front, back}}
	if err := s.furnish(o); err != nil {
		return nil, errors.Join(err, front.Close(), back.Close())
	}
	return s, nil
}

// loopback refuses addresses that others can reach.
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

// beside listens one port above another, which people can remember, or anywhere.
func beside(ctx context.Context, front *net.TCPAddr) (net.Listener, error) {
	next := *front
	next.Port++
	var l net.ListenConfig
	if back, err := l.Listen(ctx, "tcp", next.String()); err == nil {
		return back, nil
	}
	next.Port = 0
	return l.Listen(ctx, "tcp", next.String())
}

// furnish makes everything that is behind the doors.
func (s *Site) furnish(o Options) error {
	goods := shop.New()
	s.client = interlock.New(o.Engine, interlock.Name("interlock demo"))
	s.player = cases.New(goods, s.client)
	s.player.At(s.Shop, s.URL)
	s.Config = Config(strings.TrimPrefix(s.URL, "http://"), s.Shop, o.Name)
	if err := s.guarded(o); err != nil {
		return err
	}
	s.back = server(s.player.Door(goods))
	s.front = server(s.routes())
	return nil
}

// server returns one that nobody can keep busy with a slow header.
func server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // browsers hang up all the time
}

// Serve serves until ctx is done, and then sends everybody home.
func (s *Site) Serve(ctx context.Context) error {
	ended := make(chan error, 2)
	go func() { ended <- s.front.Serve(s.doors[0]) }() // both end with Close below
	go func() { ended <- s.back.Serve(s.doors[1]) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	return errors.Join(err, s.close())
}

// patience is how long those who are being served may take once it is over.
const patience = time.Second

func (s *Site) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// A page keeps a stream open for as long as it is looked at, so nobody waits for
	// it: what matters is that locks are given back.
	_ = s.api.Close()
	_ = s.front.Close()
	_ = s.back.Close()
	s.player.Close()
	err := s.gate.Close(ctx)
	if errClient := s.client.Close(ctx); err == nil {
		err = errClient
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what is left runs out
	}
	if err != nil {
		return fmt.Errorf("ending the demo: %w", err)
	}
	return nil
}
