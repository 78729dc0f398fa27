package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/quorum"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// Requirements T11 and R2 on five Redis servers: a lock is held while a majority of the
// servers grants it, whatever happens to the others.

// A fixture is five Redis servers.
type fixture struct {
	t       *testing.T
	servers []*redistest.Server
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t}
	for range 5 {
		f.servers = append(f.servers, redistest.Start(t))
	}
	return f
}

// newProxies returns one proxy per server. A process with its own proxies can be cut off
// alone.
func (f *fixture) newProxies() []*faultnet.Proxy {
	proxies := make([]*faultnet.Proxy, len(f.servers))
	for i, s := range f.servers {
		proxies[i] = faultnet.New(f.t, s.Addr())
	}
	return proxies
}

// openQuorum opens a quorum engine with its own proxies.
func (f *fixture) openQuorum(opts ...quorum.Option) *quorum.Engine {
	f.t.Helper()
	return f.openQuorumThrough(f.newProxies(), opts...)
}

// openQuorumThrough opens a quorum engine through the given proxies.
func (f *fixture) openQuorumThrough(proxies []*faultnet.Proxy, opts ...quorum.Option) *quorum.Engine {
	f.t.Helper()
	nodes := make([]engine.Engine, len(proxies))
	for i, w := range proxies {
		e, err := redisengine.Open(f.t.Context(), "redis://"+w.Addr())
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { _ = e.Close() })
		nodes[i] = e
	}
	q, err := quorum.New(nodes, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = q.Close() })
	return q
}

func (f *fixture) newClient(e engine.Engine, opts ...interlock.Option) *interlock.Client {
	c := interlock.New(e, opts...)
	f.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// waitUntilReady waits until every server has run long enough to vote.
func (f *fixture) waitUntilReady(e engine.Engine) {
	f.t.Helper()
	r := engine.Request{Key: "ready", Holder: "ready:1", Attempt: "1", Lease: time.Second}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		h, err := e.Capabilities().Prober.Probe(context.Background())
		if err == nil && len(h.Notices) == 0 {
			break
		}
		if time.Now().After(end) {
			f.t.Fatalf("the servers are not ready: %v, %v", h.Notices, err)
		}
	}
	if _, err := e.Acquire(context.Background(), r); err != nil {
		f.t.Fatal(err)
	}
	if _, err := e.Release(context.Background(), r); err != nil {
		f.t.Fatal(err)
	}
}

// cut closes the proxies' connections and refuses new ones.
func cut(proxies ...*faultnet.Proxy) {
	for _, w := range proxies {
		w.Refuse(true)
		w.Reset()
	}
}

func TestQuorumLawsOnFiveRedis(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	enginetest.Run(t, enginetest.Harness{
		Name: "quorum of 5 Redis", Lease: 6 * time.Second, // a node's timeout is a tenth of it
		Open: func(t testing.TB) engine.Engine {
			nodes := make([]engine.Engine, 5)
			for i, s := range f.servers {
				e, err := redisengine.Open(context.Background(), s.URL(), redisengine.Timeout(2*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() })
				nodes[i] = e
			}
			q, err := quorum.New(nodes, quorum.Durable(), quorum.Timeout(2*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = q.Close() })
			return q
		},
	})
}

func TestQuorumWithTwoOfFiveDown(t *testing.T) {
	t.Parallel()
	const lease, longest = 3 * time.Second, 4 * time.Second
	f := newFixture(t)
	first, second := f.openQuorum(quorum.LongestLease(longest)), f.openQuorum(quorum.LongestLease(longest))
	f.waitUntilReady(first)
	firstClient, secondClient := f.newClient(first, interlock.Watchdog(lease)), f.newClient(second, interlock.Watchdog(lease))
	held := make([]context.Context, 20)
	holds := make([]*interlock.Hold, len(held))
	for i := range held {
		var err error
		if held[i], holds[i], err = firstClient.Mutex(fmt.Sprint("held:", i)).Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.servers[1].Kill()
	f.servers[4].Kill()

	for end, n := time.Now().Add(2*lease), 0; time.Now().Before(end); n++ {
		for i, ctx := range held {
			if ctx.Err() != nil {
				t.Fatalf("hold %d was lost although only two of five nodes are down: %v", i, context.Cause(ctx))
			}
		}
		_, hold, err := secondClient.Mutex(fmt.Sprint("new:", n)).Lock(t.Context())
		if err != nil {
			t.Fatalf("lock %d is not granted with two nodes down: %v", n, err)
		}
		if err := hold.Unlock(); err != nil {
			t.Fatalf("Unlock of lock %d: %v", n, err)
		}
		if _, _, err := secondClient.Mutex("held:0").TryLock(t.Context()); !errors.Is(err, interlock.ErrContended) {
			t.Fatalf("TryLock on a held lock: got %v, want ErrContended", err)
		}
	}
	for i, h := range holds {
		if err := h.Unlock(); err != nil {
			t.Errorf("Unlock of hold %d: %v", i, err)
		}
	}
}

func TestQuorumWithThreeOfFiveDown(t *testing.T) {
	t.Parallel()
	const lease, longest = 2 * time.Second, 3 * time.Second
	f := newFixture(t)
	first, second := f.openQuorum(quorum.LongestLease(longest)), f.openQuorum(quorum.LongestLease(longest))
	f.waitUntilReady(first)
	firstClient, secondClient := f.newClient(first, interlock.Watchdog(lease)), f.newClient(second, interlock.Watchdog(lease))
	held := make([]context.Context, 20)
	for i := range held {
		var err error
		if held[i], _, err = firstClient.Mutex(fmt.Sprint("held:", i)).Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range f.servers[:3] {
		s.Kill()
	}
	killed := time.Now()
	var all sync.WaitGroup
	for i, ctx := range held {
		all.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(lease + 500*time.Millisecond):
				t.Errorf("hold %d was not lost within its lease", i)
			}
			if _, lost := errors.AsType[*interlock.LostError](context.Cause(ctx)); !lost {
				t.Errorf("hold %d ended with %v, want a LostError", i, context.Cause(ctx))
			}
		})
		all.Go(func() { // a waiter gets the lock only after the loss, although three nodes restart empty
			ctx2, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for {
				_, hold, err := secondClient.Mutex(fmt.Sprint("held:", i)).Lock(ctx2)
				switch {
				case err == nil && ctx.Err() == nil:
					t.Errorf("lock %d was granted after %v, before its holder knew of the loss", i, time.Since(killed))
				case err != nil && ctx2.Err() == nil:
					time.Sleep(20 * time.Millisecond)
					continue
				case err != nil:
					t.Errorf("lock %d was not granted again: %v", i, err)
					return
				}
				_ = hold.Unlock()
				return
			}
		})
	}
	for _, s := range f.servers[:3] {
		s.Restart()
	}
	all.Wait()
}

func TestQuorumWithARestartedNode(t *testing.T) {
	t.Parallel()
	const longest = 6 * time.Second
	for _, c := range []struct {
		name   string
		opts   []quorum.Option
		twice  bool
		prefix string
	}{
		{"a restarted node gives no second grant", []quorum.Option{quorum.LongestLease(longest)}, false, "a"},
		{"without a waiting time after the restart there are two holders", []quorum.Option{quorum.Durable()}, true, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			proxies := f.newProxies()
			first, second := f.openQuorumThrough(proxies, c.opts...), f.openQuorum(c.opts...)
			f.waitUntilReady(second)
			f.waitUntilReady(first)
			ann := engine.Request{Key: "k", Holder: "ann:1", Attempt: "1", Lease: longest}
			bob := engine.Request{Key: "k", Holder: "bob:1", Attempt: "1", Lease: longest}
			cut(proxies[3:]...) // permanently: after a won vote the engine still asks the other nodes
			if _, err := first.Acquire(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
			f.servers[2].Restart() // one of the three nodes with the hold loses it
			granted := false
			for end := time.Now().Add(longest / 2); time.Now().Before(end) && !granted; time.Sleep(50 * time.Millisecond) {
				_, err := second.Acquire(t.Context(), bob)
				granted = err == nil
			}
			if granted != c.twice {
				t.Errorf("the lock was granted twice: %v, want %v", granted, c.twice)
			}
			if c.twice {
				return
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				if _, err := second.Acquire(t.Context(), bob); err == nil {
					break
				} else if time.Now().After(end) {
					t.Fatalf("the lock is not granted after the lease expired: %v", err)
				}
			}
		})
	}
}
