package gateway

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// A roundTrip is one request to the upstream. The callbacks of httputil.ReverseProxy find
// it in the context of the request, and write the result that backend.send returns.
//
// It also knows whether a byte of the request was sent. If not, the request may be
// retried; if so, the upstream may have executed it.
type roundTrip struct {
	exchange *exchange
	target   *target
	body     *clientBody // nil if the request has none
	began    time.Time
	headed   bool // the header of the response has arrived
	broken   bool // the response broke off after its header
	result   result

	connected bool
	conn      *countingConn // nil if the transport made the connection without our dialer
	before    int64         // bytes sent on conn before this request
	sent      bool          // something was sent on an earlier connection
}

// roundTripKey is the context key of the round trip.
type roundTripKey struct{}

// roundTripOf returns the round trip of a context. Every request of the proxy has one,
// because only backend.send uses the proxy.
func roundTripOf(ctx context.Context) *roundTrip { return ctx.Value(roundTripKey{}).(*roundTrip) }

// Guarded reports whether a rule guards a request that Options.Transport gets.
func Guarded(r *http.Request) bool {
	t, ok := r.Context().Value(roundTripKey{}).(*roundTrip)
	return ok && len(t.exchange.rules) > 0
}

// attach returns the request with the round trip in its context.
func (t *roundTrip) attach(r *http.Request) *http.Request {
	ctx := context.WithValue(r.Context(), roundTripKey{}, t)
	return r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: t.gotConn}))
}

// gotConn is called with the connection that the request is sent on next.
func (t *roundTrip) gotConn(info httptrace.GotConnInfo) {
	t.sent = t.wrote()
	t.connected, t.conn = true, nil
	conn := info.Conn
	// Below TLS is the connection that our dialer made.
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = tls.NetConn()
	}
	if c, ok := conn.(*countingConn); ok {
		t.conn, t.before = c, c.sent.Load()
	}
}

// wrote reports whether a byte of the request may have been sent. Requests share an
// HTTP/2 connection; there the byte of another request counts as well.
func (t *roundTrip) wrote() bool {
	return t.sent || t.connected && (t.conn == nil || t.conn.sent.Load() != t.before)
}

// A countingConn counts the bytes sent on it. Bytes count from the beginning of their
// Write: the upstream may execute the request and reset the connection before Write
// returns.
type countingConn struct {
	net.Conn
	sent atomic.Int64
}

// Write implements io.Writer.
func (c *countingConn) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n - len(p)))
	return n, err
}

// A dialFunc is the type of http.Transport's DialContext.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// counting returns dial with connections that count the bytes sent on them.
func counting(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countingConn{Conn: conn}, nil
	}
}
