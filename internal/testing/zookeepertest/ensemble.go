package zookeepertest

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/testing/child"
)

// An Ensemble is several servers with a leader.
type Ensemble struct {
	t       testing.TB
	Servers []*Server
}

// StartEnsemble runs three servers until the test ends.
func StartEnsemble(t testing.TB) *Ensemble {
	t.Helper()
	requireInstalled(t)
	child.SkipIfShort(t, "needs several servers")
	e := &Ensemble{t: t}
	for id := 1; id <= 3; id++ {
		e.Servers = append(e.Servers, newServer(t.TempDir(), id))
	}
	for _, s := range e.Servers {
		t.Cleanup(func() { s.end(t) })
		if err := s.run(e.Servers); err != nil {
			t.Fatalf("ZooKeeper did not start: %v\n%s", err, s.process.Log())
		}
	}
	e.AwaitAll()
	return e
}

// AwaitAll waits until every server serves.
func (e *Ensemble) AwaitAll() {
	e.t.Helper()
	for _, s := range e.Servers {
		if err := s.await("leader", "follower"); err != nil {
			e.t.Fatalf("server %d: %v\n%s", s.id, err, s.process.Log())
		}
	}
}

// Leader waits for a leader and returns it.
func (e *Ensemble) Leader() *Server {
	e.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, s := range e.Servers {
			if s.process.Running() && s.Mode() == "leader" {
				return s
			}
		}
	}
	e.t.Fatalf("no leader within %v", patience)
	return nil
}

// Followers returns the servers that are not the leader.
func (e *Ensemble) Followers() (followers []*Server) {
	leader := e.Leader()
	for _, s := range e.Servers {
		if s != leader {
			followers = append(followers, s)
		}
	}
	return followers
}

// URL returns the addresses of all servers as a zk:// URL.
func (e *Ensemble) URL() string {
	var addrs []string
	for _, s := range e.Servers {
		addrs = append(addrs, s.Addr())
	}
	return "zk://" + strings.Join(addrs, ",")
}
