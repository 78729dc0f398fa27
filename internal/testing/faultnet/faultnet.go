// Package faultnet puts a bad network between a test and a server. It is a TCP proxy
// in the test's process that delays, drops or holds back data, and cuts connections.
//
// It does not parse the data. Each chunk from the client counts as a request, and
// each chunk from the server as a reply. That fits clients that wait for each reply.
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

// A Proxy passes bytes between clients and one server, with the faults that the test
// sets. Its methods are safe for concurrent use.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup
	closed   chan struct{}

	mu       sync.Mutex
	refuse   bool
	cut      bool      // pass the next request, then cut its connection
	faults   [2]faults // by Direction
	links    map[*link]struct{}
	accepted int    // connections accepted so far
	chunks   [2]int // chunks passed so far, by Direction
}

// faults are the faults of one direction.
type faults struct {
	delay time.Duration
	drop  bool          // drop all data
	gate  chan struct{} // if not nil, data waits until it is closed
}

// A link is a client's connection and the one to the server behind it.
type link struct {
	client, server net.Conn
	dropReplies    bool // drop all data from the server
	dropAll        bool // drop all data, in both directions
}

// New returns a proxy in front of target, without faults. It is closed when the test
// ends.
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
	return p.accepted
}

// Chunks returns how often data has passed in one direction. A client that waits for
// each reply sends one chunk per request; a pipeline has fewer.
func (p *Proxy) Chunks(dir Direction) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chunks[dir]
}

// Delay delays all data in one direction by d; zero ends the delay.
func (p *Proxy) Delay(dir Direction, d time.Duration) { p.change(func() { p.faults[dir].delay = d }) }

// BlackHole drops all data in one direction while on.
func (p *Proxy) BlackHole(dir Direction, on bool) { p.change(func() { p.faults[dir].drop = on }) }

// Refuse cuts new connections as soon as they are made, while on.
func (p *Proxy) Refuse(on bool) { p.change(func() { p.refuse = on }) }

// Redirect sends new connections to another server and cuts the present ones, as a
// failover does.
func (p *Proxy) Redirect(target string) {
	p.change(func() { p.target = target })
	p.Reset()
}

// CutAfterRequest passes the next request and then cuts its connection: the server
// executes the request, and the client gets no reply.
func (p *Proxy) CutAfterRequest() { p.change(func() { p.cut = true }) }

// Silence drops all data of the present connections from now on, and leaves them open,
// as if a NAT gateway had forgotten them. New connections work.
func (p *Proxy) Silence() {
	p.change(func() {
		for l := range p.links {
			l.dropAll = true
		}
	})
}

// Hold holds back data in one direction until release is called. Then the data passes,
// even if the client has disconnected.
func (p *Proxy) Hold(dir Direction) (release func()) {
	gate := make(chan struct{})
	p.change(func() { p.faults[dir].gate = gate })
	return sync.OnceFunc(func() {
		p.change(func() {
			if p.faults[dir].gate == gate {
				p.faults[dir].gate = nil
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

// connect opens the connection to the server. If it cannot, it cuts the client's.
func (p *Proxy) connect(client net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
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

// pass copies bytes in one direction until either side is closed.
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

// forward passes b on, subject to the faults. It reports whether the link stays open.
func (p *Proxy) forward(l *link, dir Direction, to net.Conn, b []byte) bool {
	p.mu.Lock()
	f, cut := p.faults[dir], p.cut && dir == Requests
	if cut {
		p.cut, l.dropReplies = false, true
	}
	p.mu.Unlock()

	if !p.wait(f) {
		return false
	}
	if f.drop || !p.mayPass(l, dir) {
		return true
	}
	if _, err := to.Write(b); err != nil {
		return false
	}
	return !cut
}

// mayPass reports whether a chunk may pass on its link, and counts it if so.
func (p *Proxy) mayPass(l *link, dir Direction) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.dropAll || dir == Replies && l.dropReplies {
		return false
	}
	p.chunks[dir]++
	return true
}

// wait waits for the delay and the gate of f. It reports false if the test ended
// first.
func (p *Proxy) wait(f faults) bool {
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-p.closed:
			return false
		}
	}
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-p.closed:
			return false
		}
	}
	return true
}

// end closes a link when one of its directions has ended. After the last request, the
// server's side is closed for writing only: a full close could discard a request that
// the server has not read yet.
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

// cut resets both connections, as a broken network does.
func (l *link) cut() {
	abort(l.client)
	abort(l.server)
}

// abort closes a connection with a TCP reset.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
