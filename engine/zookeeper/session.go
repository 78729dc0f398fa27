package zookeeper

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
)

// A session is the connection to the ensemble, which the client library opens again
// after each loss.
type session struct {
	conn *zk.Conn

	mu       sync.Mutex
	up       bool
	changed  chan struct{} // closed at the next change of up
	closed   bool
	authed   bool   // the user of the URL was sent to the server, if there is one
	connects uint64 // how often the session was opened or moved to another connection
	cause    string // why there is no session, if that is known
}

// dial begins to connect to the servers. It returns before there is a connection.
func dial(a *address) (*session, error) {
	s := &session{changed: make(chan struct{}), authed: a.user == ""}
	conn, events, err := zk.Connect(a.hosts, a.session,
		zk.WithEventCallback(s.observe), zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithDialer(a.dialer()), zk.WithHostProvider(new(hosts)))
	if err != nil {
		return nil, fmt.Errorf("zookeeper: cannot connect to %v: %w: %w", a.hosts, engine.ErrUnavailable, err)
	}
	// The library drops events that are not read, and sends all of them to observe.
	go func() { // ends with the connection
		for range events {
		}
	}()
	s.conn = conn
	if a.user != "" {
		go s.authenticate("digest", a.user+":"+a.password) // ends with the connection
	}
	return s, nil
}

// authenticate sends the user to the server, once there is one. The library repeats that
// for later connections.
func (s *session) authenticate(scheme, credentials string) {
	for {
		err := s.conn.AddAuth(scheme, []byte(credentials))
		s.mu.Lock()
		if err == nil {
			s.authed = true
			s.announce()
		}
		closed := s.closed
		s.mu.Unlock()
		if err == nil || closed {
			return
		}
		time.Sleep(rewatch)
	}
}

// announce wakes all that wait for a change. The caller has locked mu.
func (s *session) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// close closes the connection. Calls that wait for a session end.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	s.announce()
	s.mu.Unlock()
	s.conn.Close()
}

// observe follows the state of the connection. The library calls it, so it must not block.
func (s *session) observe(ev zk.Event) {
	if ev.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := ev.State == zk.StateHasSession
	switch {
	case up:
		s.cause = ""
		s.connects++
	case ev.State == zk.StateExpired:
		s.cause = "the session has expired"
	case ev.State == zk.StateAuthFailed:
		s.cause = "the user or the password is wrong"
	}
	if up || up != s.up {
		s.up = up
		s.announce()
	}
}

// state returns whether there is a session, how often there was one, and a channel that
// is closed at the next change.
func (s *session) state() (up bool, connects uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up && s.authed && !s.closed, s.connects, s.changed
}

// wait returns nil once there is a session, or the error of ctx.
func (s *session) wait(ctx context.Context) error {
	for {
		up, _, changed := s.state()
		switch {
		case up:
			return nil
		case s.ended():
			return engine.ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended reports whether close was called.
func (s *session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// why says why there is no session, for an error text.
func (s *session) why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != "" {
		return s.cause
	}
	return "no server accepts the session"
}

// silent drops the log of the library: errors are in the answers of calls.
type silent struct{}

func (silent) Printf(string, ...any) {}

// A boundedConn limits how long the library waits for the reply to its first packet. It
// would wait for ten times the usual time at a server that accepts connections and does
// not answer.
type boundedConn struct {
	net.Conn
	longest time.Duration
	begun   bool // the first deadline was set; the library sets deadlines from one goroutine
}

// SetReadDeadline implements [net.Conn].
func (c *boundedConn) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(c.longest); !c.begun && t.After(latest) {
		t = latest
	}
	c.begun = true
	return c.Conn.SetReadDeadline(t)
}
