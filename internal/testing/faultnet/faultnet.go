// Package faultnet puts a bad network between a test and a server: a TCP proxy
// in the test's own process that delays, loses, holds back and cuts.
//
// It knows nothing of what passes through. A request is what the client sends
// in one go, and a reply what the server does; that is true of clients that wait
// for their answers.
package faultnet

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A Direction is one of the two ways through a [Proxy].
type Direction int

// The two directions.
const (
	Requests Direction = iota // from client to server
	Replies                   // from server to client
)

// A Proxy passes bytes between clients and one server, as badly as it is told.
// Its methods are safe for concurrent use.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup
	closed   chan struct{}

	mu      sync.Mutex
	refuse  bool
	cut     bool // the connection of the next request, once that is through
	ways    [2]way
	links   map[*link]struct{}
	through int    // connections accepted so far
	chunks  [2]int // that passed in each direction
}

// A way is what happens in one direction.
type way struct {
	delay   time.Duration
	swallow bool          // take, and pass nothing on
	gate    chan struct{} // nil, or closed when what is held back may go
}

// A link is a client's connection and the one to the server behind it.
type link struct {
	client, server net.Conn
	deaf           bool // a reply must not pass any more
	silent         bool // nothing passes any more, in either direction
}

// New returns a proxy before target that does no harm yet. It ends with the
// test.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: l, closed: make(chan struct{}), links: make(map[*link]struct{})}
	p.running.Go(p.accept) // ends with the listener; close waits
	t.Cleanup(p.close)
	return p
}

// Addr returns the host and port for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Connections returns how many connections there have been.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.through
}

// Chunks returns how often data has passed in one direction. A client that waits for
// each reply sends one chunk per request; a pipeline has fewer.
func (p *Proxy) Chunks(dir Direction) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chunks[dir]
}

// Delay lets everything in one direction take d longer; zero ends it.
func (p *Proxy) Delay(dir Direction, d time.Duration) { p.change(func() { p.ways[dir].delay = d }) }

// BlackHole swallows all data in one direction while on. Swallowed data is lost.
func (p *Proxy) BlackHole(dir Direction, on bool) { p.change(func() { p.ways[dir].swallow = on }) }

// Refuse cuts new connections as soon as they are made, while on.
func (p *Proxy) Refuse(on bool) { p.change(func() { p.refuse = on }) }

// Redirect sends new connections to another server, and cuts those there are: a
// failover.
func (p *Proxy) Redirect(target string) {
	p.change(func() { p.target = target })
	p.Reset()
}

// CutAfterRequest passes the next request on and then cuts its connection, so
// that the server carries it out and the client never learns.
func (p *Proxy) CutAfterRequest() { p.change(func() { p.cut = true }) }

// Silence swallows all data of the present connections from now on, and leaves them
// open: the flows are forgotten, as by a NAT gateway. New connections work.
func (p *Proxy) Silence() {
	p.change(func() {
		for l := range p.links {
			l.silent = true
		}
	})
}

// Hold keeps what comes in one direction until release is called; then it goes
// on, even if the client is gone by then.
func (p *Proxy) Hold(dir Direction) (release func()) {
	gate := make(chan struct{})
	p.change(func() { p.ways[dir].gate = gate })
	return sync.OnceFunc(func() {
		p.change(func() {
			if p.ways[dir].gate == gate {
				p.ways[dir].gate = nil
			}
		})
		close(gate)
	})
}

// Reset cuts all connections.
func (p *Proxy) Reset() {
	p.change(func() {
		for l := range p.links {
			l.cut()
		}
	})
}

func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *Proxy) close() {
	close(p.closed)
	p.listener.Close()
	p.Reset()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		if l := p.connect(conn); l != nil {
			p.running.Go(func() { p.pass(l, Requests, l.client, l.server) })
			p.running.Go(func() { p.pass(l, Replies, l.server, l.client) })
		}
	}
}

// connect opens the server's side, or cuts the client's.
func (p *Proxy) connect(client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.through++
	server, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil {
		abort(client)
		return nil
	}
	l := &link{client: client, server: server}
	if p.refuse {
		l.cut()
		return nil
	}
	p.links[l] = struct{}{}
	return l
}

// pass carries bytes one way until either side is gone.
func (p *Proxy) pass(l *link, dir Direction, from, to net.Conn) {
	defer p.end(l, dir)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !p.forward(l, dir, to, buf[:n]) {
			return
		}
	}
}

// forward does to b what the test has asked for, and reports whether to go on.
func (p *Proxy) forward(l *link, dir Direction, to net.Conn, b []byte) bool {
	p.mu.Lock()
	w, cut := p.ways[dir], p.cut && dir == Requests
	if cut {
		p.cut, l.deaf = false, true
	}
	p.mu.Unlock()

	if !p.wait(w) {
		return false
	}
	if w.swallow || !p.mayPass(l, dir) {
		return true
	}
	if _, err := to.Write(b); err != nil {
		return false
	}
	return !cut
}

// mayPass counts a chunk that may pass on its link.
func (p *Proxy) mayPass(l *link, dir Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.silent || dir == Replies && l.deaf {
		return false
	}
	p.chunks[dir]++
	return true
}

// wait lets the delay and the gate of w pass, and reports false if the test
// ended before.
func (p *Proxy) wait(w way) bool {
	if w.delay > 0 {
		select {
		case <-time.After(w.delay):
		case <-p.closed:
			return false
		}
	}
	if w.gate != nil {
		select {
		case <-w.gate:
		case <-p.closed:
			return false
		}
	}
	return true
}

// end tears a link down when one of its ways has ended. The server is left the
// time to read what it was sent: to cut its side at once could take a request
// back that had been passed on.
func (p *Proxy) end(l *link, dir Direction) {
	if dir == Requests {
		l.client.Close()
		if c, ok := l.server.(*net.TCPConn); ok {
			_ = c.CloseWrite()
		}
		return
	}
	l.client.Close()
	l.server.Close()
	p.change(func() { delete(p.links, l) })
}

// cut ends both sides as a broken network does.
func (l *link) cut() {
	abort(l.client)
	abort(l.server)
}

// abort closes a connection with a reset instead of a farewell.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
