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

// Server returns a server for the gateway, with the timeouts, limits and certificate of
// its configuration. Serve it on a [LimitListener]; if its TLSConfig is not nil, use
// ServeTLS with two empty file names.
func (g *Gateway) Server() (*http.Server, error) {
	cfg := g.Config()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	// There is no ReadTimeout or WriteTimeout: they would cut off uploads and event
	// streams that no rule guards. The middleware limits how long a guarded request may
	// take to send its body.
	s := &http.Server{
		Handler:                      g,
		Protocols:                    protocols,
		ReadHeaderTimeout:            cmp.Or(cfg.Timeouts.Header, 5*time.Second),
		IdleTimeout:                  cmp.Or(cfg.Timeouts.Idle, time.Minute),
		MaxHeaderBytes:               cmp.Or(cfg.Limits.Header, 16<<10),
		DisableGeneralOptionsHandler: true, // ServeHTTP refuses OPTIONS * with all other requests that have no path
		ErrorLog:                     slog.NewLogLogger(g.options.Log.Handler(), slog.LevelDebug),
	}
	if cfg.TLS == nil {
		return s, nil
	}
	var err error
	s.TLSConfig, err = TLSConfig(cfg.TLS)
	return s, err
}

// TLSConfig reads the certificate files, and returns the server's side of TLS.
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
	// The pool starts empty: with the system's roots, any public CA could issue a client
	// certificate.
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New("gateway: tls: client-ca: the file contains no PEM certificate")
	}
	return c, nil
}

// DefaultConns is the default of config.Limits.Conns.
const DefaultConns = 10_000

// LimitListener returns a listener with at most n open connections, or DefaultConns if n
// is 0. Further connections wait in the system's backlog.
func LimitListener(l net.Listener, n int) net.Listener {
	return &limitListener{Listener: l, open: make(chan struct{}, cmp.Or(n, DefaultConns)), done: make(chan struct{})}
}

// A limitListener acquires a slot before it accepts, so that the system's backlog holds
// the connections above the limit.
type limitListener struct {
	net.Listener
	open chan struct{} // one element per open connection
	once sync.Once
	done chan struct{} // closed by Close, for an Accept that waits
}

// Accept implements [net.Listener].
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	// net/http may close a connection twice. The second time must not release the slot of
	// another connection.
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.open })}, nil
}

// Close implements [net.Listener].
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// A limitedConn is a connection that counts against the limit until it is closed.
type limitedConn struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
