package faultnet_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// An echo is a server that records every line and sends it back.
type echo struct {
	l  net.Listener
	mu sync.Mutex
	b  strings.Builder
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{l: l}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { e.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return e
}

func (e *echo) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		e.mu.Lock()
		e.b.WriteString(line)
		e.mu.Unlock()
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

// received waits until the server has received want, for at most five seconds.
func (e *echo) received(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		got := e.b.String()
		e.mu.Unlock()
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server received %q, want %q", got, want)
		}
	}
}

func dial(t *testing.T, p *faultnet.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a line and returns the reply. It waits for at most d.
func ask(t *testing.T, c net.Conn, line string, d time.Duration) (string, error) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := c.Read(b)
	return strings.TrimSpace(string(b[:n])), err
}

const soon, long = 50 * time.Millisecond, 5 * time.Second

func TestProxy(t *testing.T) {
	t.Parallel()
	fixture := func(t *testing.T) (*echo, *faultnet.Proxy, net.Conn) {
		t.Helper()
		t.Parallel()
		e := newEcho(t)
		p := faultnet.New(t, e.l.Addr().String())
		return e, p, dial(t, p)
	}

	t.Run("without faults it passes everything", func(t *testing.T) {
		_, p, c := fixture(t)
		if got, err := ask(t, c, "a", long); got != "a" || err != nil {
			t.Errorf("the reply is %q, %v; want a", got, err)
		}
		if n := p.Connections(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})

	t.Run("CutAfterRequest passes the request and drops the reply", func(t *testing.T) {
		e, p, c := fixture(t)
		_, _ = ask(t, c, "a", long)
		p.CutAfterRequest()
		if got, err := ask(t, c, "b", long); err == nil {
			t.Errorf("the reply is %q, want none", got)
		}
		e.received(t, "a\nb\n")
		if got, err := ask(t, dial(t, p), "c", long); got != "c" || err != nil {
			t.Errorf("the reply on the next connection is %q, %v; want c", got, err)
		}
	})

	t.Run("a black hole drops replies", func(t *testing.T) {
		e, p, c := fixture(t)
		p.BlackHole(faultnet.Replies, true)
		if got, err := ask(t, c, "a", soon); err == nil {
			t.Errorf("the reply is %q, want none", got)
		}
		e.received(t, "a\n")
		p.BlackHole(faultnet.Replies, false)
		if got, err := ask(t, c, "b", long); got != "b" || err != nil {
			t.Errorf("the reply afterwards is %q, %v; want b", got, err)
		}
	})

	t.Run("a silenced connection loses everything, and a new one works", func(t *testing.T) {
		e, p, c := fixture(t)
		_, _ = ask(t, c, "a", long)
		p.Silence()
		if got, err := ask(t, c, "b", soon); err == nil {
			t.Errorf("the reply is %q, want none", got)
		}
		if got, err := ask(t, dial(t, p), "c", long); got != "c" || err != nil {
			t.Errorf("the reply on the next connection is %q, %v; want c", got, err)
		}
		e.received(t, "a\nc\n")
		if n := p.Chunks(faultnet.Requests); n != 2 {
			t.Errorf("%d requests passed, want 2", n)
		}
	})

	t.Run("a network dials the proxy of each server", func(t *testing.T) {
		e := newEcho(t)
		n := faultnet.NewNetwork(t, e.l.Addr().String())
		c, err := n.Dial(t.Context(), "tcp", e.l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if got, err := ask(t, c, "a", long); got != "a" || err != nil {
			t.Errorf("the reply is %q, %v; want a", got, err)
		}
		if got := n.Sum(func(p *faultnet.Proxy) int { return p.Connections() }); got != 1 {
			t.Errorf("%d connections, want 1", got)
		}
	})

	t.Run("a request held back arrives after its client has disconnected", func(t *testing.T) {
		e, p, c := fixture(t)
		release := p.Hold(faultnet.Requests)
		if got, err := ask(t, c, "a", soon); err == nil {
			t.Errorf("the reply is %q, want none", got)
		}
		c.Close()
		e.received(t, "")
		release()
		e.received(t, "a\n")
	})

	t.Run("a delay applies in either direction", func(t *testing.T) {
		_, p, c := fixture(t)
		for _, dir := range []faultnet.Direction{faultnet.Requests, faultnet.Replies} {
			p.Delay(dir, soon)
			began := time.Now()
			if got, err := ask(t, c, "a", long); got != "a" || err != nil {
				t.Errorf("the reply is %q, %v; want a", got, err)
			}
			if d := time.Since(began); d < soon {
				t.Errorf("the reply took %v, want at least %v", d, soon)
			}
			p.Delay(dir, 0)
		}
	})

	t.Run("Reset cuts connections, and Refuse cuts new ones", func(t *testing.T) {
		_, p, c := fixture(t)
		_, _ = ask(t, c, "a", long)
		p.Reset()
		if got, err := ask(t, c, "b", long); err == nil {
			t.Errorf("the reply after a reset is %q, want none", got)
		}
		p.Refuse(true)
		// Dial may fail, or succeed just before the connection is cut.
		if c, err := net.Dial("tcp", p.Addr()); err == nil {
			t.Cleanup(func() { _ = c.Close() })
			if got, err := ask(t, c, "c", long); err == nil {
				t.Errorf("the reply on a refused connection is %q, want none", got)
			}
		}
		p.Refuse(false)
		if got, err := ask(t, dial(t, p), "d", long); got != "d" || err != nil {
			t.Errorf("the reply afterwards is %q, %v; want d", got, err)
		}
	})
}
