package zookeeper

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-go/interlock/engine"
)

// A session is the connection to the ensemble. After each loss it opens another one, with
// a new session at the servers: locks do not depend on it. The client library could keep
// the session, but has a data race when it sets its watches again.
type session struct {
	address *address
	quit    chan struct{}  // closed by close
	running sync.WaitGroup // the goroutines of the session

	mu       sync.Mutex
	link     *link
	up       bool
	changed  chan struct{} // closed at the next change of up
	connects uint64        // how often there was a connection
	cause    string        // why there is no session, if that is known
	hosts    []string      // the servers in random order; each link begins with the next one
	refusal  error         // why a server refuses the user, until one accepts it
	refusals int           // how many links in a row a server has refused
}

// A link is one connection with its session. It ends when the connection is lost.
type link struct {
	session *session
	conn    *zk.Conn
	had     atomic.Bool   // it has had a session
	began   time.Time     // when it got the session; set before had
	lost    chan struct{} // closed, under the session's mu, when it has lost its connection
	losing  sync.Once
}

// dial begins to connect to the servers. It returns before there is a connection.
func dial(a *address) (*session, error) {
	s := &session{address: a, quit: make(chan struct{}), changed: make(chan struct{}), hosts: shuffled(a.hosts)}
	first, err := s.connect()
	if err != nil {
		return nil, err
	}
	s.running.Go(func() { s.follow(first) }) // close waits
	return s, nil
}

// connect begins to open a link, the next one of the session. The library tries the
// servers until one answers.
func (s *session) connect() (*link, error) {
	l := &link{session: s, lost: make(chan struct{})}
	a := s.address
	s.mu.Lock() // the link can be up only once calls can use it
	defer s.mu.Unlock()
	conn, events, err := zk.Connect(a.hosts, a.session, zk.WithEventCallback(l.observe), zk.WithLogger(silent{}),
		zk.WithLogInfo(false), zk.WithDialer(l.dial), zk.WithHostProvider(&hosts{all: s.hosts}))
	if err != nil {
		return nil, err
	}
	s.hosts = slices.Concat(s.hosts[1:], s.hosts[:1])
	l.conn, s.link = conn, l
	// The library drops events that are not read, and sends all of them to observe.
	s.running.Go(func() { // ends with the connection
		for range events {
		}
	})
	s.running.Go(l.authenticate)
	return l, nil
}

// relink is the pause before another link is opened. It doubles up to maxRelink while
// each link is lost at once, because servers that refuse a client close its connection.
const (
	relink    = 20 * time.Millisecond
	maxRelink = time.Second
)

// follow opens another link whenever one is lost, until the session is closed.
func (s *session) follow(l *link) {
	for pause := relink; ; pause = min(2*pause, maxRelink) {
		select {
		case <-l.lost:
		case <-s.quit:
			l.conn.Close()
			return
		}
		s.running.Go(l.conn.Close) // may wait for a second
		if time.Since(l.began) > maxRelink {
			pause = relink
		}
		select {
		case <-time.After(pause):
		case <-s.quit:
			return
		}
		next, err := s.connect()
		if err != nil { // the library has refused the list of servers, which it had accepted
			return
		}
		l = next
	}
}

// observe follows the state of the link. The library calls it, so it must not block.
func (l *link) observe(ev zk.Event) {
	if ev.Type != zk.EventSession {
		return
	}
	switch ev.State {
	case zk.StateHasSession:
		l.began = time.Now()
		l.had.Store(true)
		if l.session.address.user == "" {
			l.serve()
		}
	case zk.StateExpired, zk.StateDisconnected:
		if l.had.Load() {
			l.lose()
		}
	}
}

// serve notes that calls can use the link, unless it was lost meanwhile.
func (l *link) serve() {
	s := l.session
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-l.lost:
		return
	default:
	}
	s.up, s.cause, s.refusal, s.refusals = true, "", nil, 0
	s.connects++
	s.announce()
}

// lose notes that calls cannot use the link any longer.
func (l *link) lose() {
	l.losing.Do(func() {
		s := l.session
		s.mu.Lock()
		defer s.mu.Unlock()
		close(l.lost)
		s.up, s.cause = false, "the connection was lost"
		s.announce()
	})
}

// authenticate sends the user to the server, once there is one.
func (l *link) authenticate() {
	a := l.session.address
	for a.user != "" {
		err := l.conn.AddAuth("digest", []byte(a.user+":"+a.password))
		switch {
		case err == nil:
			l.serve()
			return
		case errors.Is(err, zk.ErrAuthFailed):
			l.refuse(err)
			l.lose() // the server closes the connection as well
			return
		}
		select {
		case <-l.lost:
			return
		case <-l.session.quit:
			return
		case <-time.After(relink):
		}
	}
}

// errLost keeps the library from connecting again.
var errLost = errors.New("zookeeper: the connection was lost")

// dial opens the connection of a link.
func (l *link) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	if l.had.Load() {
		return nil, errLost
	}
	conn, err := l.session.address.connect(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &boundedConn{Conn: conn, longest: l.session.address.session}, nil
}

// refuse notes that a server refuses the user, unless there is another link meanwhile: its
// server may have accepted the user.
func (l *link) refuse(err error) {
	s := l.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l {
		return
	}
	s.refusal = err
	s.refusals++
	s.announce()
}

// refused returns the error with which the servers refuse the user, or nil. One server that
// refuses it is not enough, because another one may accept it. Each link begins with the
// next server, so after as many refusals as there are servers, all have been tried.
func (s *session) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals < len(s.hosts) {
		return nil
	}
	return s.refusal
}

// announce wakes all that wait for a change. The caller has locked mu.
func (s *session) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// close closes the connection and waits for the goroutines of the session. Calls that
// wait for a session end.
func (s *session) close() {
	s.mu.Lock()
	close(s.quit)
	s.announce()
	s.mu.Unlock()
	s.running.Wait()
}

// conn returns the present connection, which may be lost.
func (s *session) conn() *zk.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link.conn
}

// state returns whether there is a session, how often there was one, and a channel that
// is closed at the next change.
func (s *session) state() (up bool, connects uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up && !s.ended(), s.connects, s.changed
}

// wait returns nil once there is a session, or the error of ctx. It does not wait while
// the servers refuse the user.
func (s *session) wait(ctx context.Context) error {
	for {
		up, _, changed := s.state()
		switch refusal := s.refused(); {
		case up:
			return nil
		case s.ended():
			return engine.ErrClosed
		case refusal != nil:
			return refusal
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
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
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
