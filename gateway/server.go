package gateway

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/interlock-go/interlock/gateway/config"
)

// Server returns a server for the gateway, with the timeouts and limits of its
// configuration and its TLS, which is checked here. It listens nowhere yet: serve it
// on a [Capped] listener, with ServeTLS and two empty names if TLSConfig is not nil.
func (g *Gateway) Server() (*http.Server, error) {
	cfg := g.Config()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	s := &http.Server{
		Handler:                      g,
		Protocols:                    protocols,
		ReadHeaderTimeout:            cmp.Or(cfg.Timeouts.Header, 5*time.Second),
		IdleTimeout:                  cmp.Or(cfg.Timeouts.Idle, time.Minute),
		MaxHeaderBytes:               cmp.Or(cfg.Limits.Header, 16<<10),
		DisableGeneralOptionsHandler: true, // OPTIONS * is answered as everything that is no path
		ErrorLog:                     slog.NewLogLogger(g.options.Log.Handler(), slog.LevelDebug),
	}
	if cfg.TLS == nil {
		return s, nil
	}
	var err error
	s.TLSConfig, err = TLSConfig(cfg.TLS)
	return s, err
}

// TLSConfig returns how clients are talked to, with the certificates as they are in
// their files now.
func TLSConfig(t *config.TLS) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("gateway: tls: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if t.ClientCA == "" {
		return c, nil
	}
	ca, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("gateway: tls: client-ca: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New("gateway: tls: client-ca: the file holds no certificate in PEM")
	}
	return c, nil
}

// DefaultConns is how many connections there may be at a time unless config.Limits
// says otherwise.
const DefaultConns = 10_000

// Capped returns a listener that has at most n connections at a time; further ones
// wait to be accepted.
func Capped(l net.Listener, n int) net.Listener {
	return &capped{Listener: l, room: make(chan struct{}, cmp.Or(n, DefaultConns)), done: make(chan struct{})}
}

type capped struct {
	net.Listener
	room chan struct{}
	once sync.Once
	done chan struct{}
}

// Accept implements [net.Listener].
func (l *capped) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &guest{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements [net.Listener].
func (l *capped) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// A guest is a connection that has its place.
type guest struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *guest) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
