package gateway

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// A wire tells whether anything of a request was sent. Between what was not and what
// may have been done there is nothing in between for who waits for a payment.
type wire struct {
	target *target
	got    bool // a connection
	conn   *counter
	before int64 // bytes sent on it when we got it
	sent   bool  // on an earlier connection
}

// RoundTrip implements [http.RoundTripper].
func (b *backend) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &visitOf(r.Context()).wire
	trace := &httptrace.ClientTrace{GotConn: w.gotConn}
	return b.transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
}

// gotConn notes the connection that the request is sent on next.
func (w *wire) gotConn(info httptrace.GotConnInfo) {
	w.sent = w.wrote()
	w.got, w.conn = true, nil
	conn := info.Conn
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*counter); ok {
		w.conn, w.before = c, c.sent.Load()
	}
}

// wrote tells whether a byte may have been sent. On a connection that several
// requests share it may have been another one's: then it counts as ours.
func (w *wire) wrote() bool {
	return w.sent || w.got && (w.conn == nil || w.conn.sent.Load() != w.before)
}

// A counter is a connection that counts what is sent on it.
type counter struct {
	net.Conn
	sent atomic.Int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

type dial func(ctx context.Context, network, address string) (net.Conn, error)

// counted returns a dial whose connections count.
func counted(d dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &counter{Conn: conn}, nil
	}
}
