package gateway

import (
	"errors"
	"net"
	"net/http/httptrace"
	"testing"
)

// A writeOnlyConn is a connection whose Write calls a function.
type writeOnlyConn struct {
	net.Conn
	write func(p []byte) (int, error)
}

func (c writeOnlyConn) Write(p []byte) (int, error) { return c.write(p) }

// TestWroteCountsBytesFromTheBeginningOfTheirWrite covers an upstream that executes a request
// and resets the connection before Write returns.
func TestWroteCountsBytesFromTheBeginningOfTheirWrite(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		err   error
		after bool
	}{
		{"all bytes", 5, nil, true},
		{"some bytes", 2, errors.New("reset"), true},
		{"no byte", 0, errors.New("broken pipe"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var trip roundTrip
			during := false
			conn := &countingConn{Conn: writeOnlyConn{write: func([]byte) (int, error) {
				during = trip.wrote()
				return c.n, c.err
			}}}
			trip.gotConn(httptrace.GotConnInfo{Conn: conn})
			if trip.wrote() {
				t.Error("a connection without a write counts as sent")
			}
			if n, err := conn.Write([]byte("hello")); n != c.n || !errors.Is(err, c.err) {
				t.Errorf("Write returned %d, %v; want %d, %v", n, err, c.n, c.err)
			}
			if !during {
				t.Error("nothing counted as sent during Write")
			}
			if trip.wrote() != c.after {
				t.Errorf("after Write, wrote is %t, want %t", trip.wrote(), c.after)
			}
		})
	}
}
