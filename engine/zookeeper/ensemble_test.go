package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/zookeepertest"
)

// TestEnsemble puts one ensemble through its faults, one after the other: starting three
// Java programs takes long.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	ensemble := zookeepertest.StartEnsemble(t)
	e := open(t, ensemble.URL(), zookeeper.Session(2*time.Second))
	other := open(t, ensemble.URL(), zookeeper.Session(2*time.Second))
	t.Run("a lock is held at every server", func(t *testing.T) { lockAtEveryServer(t, ensemble) })
	t.Run("a lock outlives the leader", func(t *testing.T) {
		r := request(t, ann, "a")
		first := granted(t, e, r)
		waiter := request(t, bob, "b")
		waiter.Kind, waiter.QueueLease = engine.Fair, time.Minute
		busy(t, other, waiter)
		wake, stop := other.Notify(waiter)
		defer stop()
		awaitWake(t, wake)
		leader := ensemble.Leader()
		leader.Kill()
		eventually(t, "the holder renews", func() bool { return e.Renew(context.Background(), []engine.Request{r})[0] == nil })
		eventually(t, "the waiter is refused", func() bool { return isBusy(other, waiter) })
		drain(wake)
		eventually(t, "the holder releases", func() bool {
			p, err := e.Release(context.Background(), r)
			return err == nil && p.Outcome != engine.NotYours
		})
		awaitWake(t, wake)
		if g := granted(t, other, waiter); g.Fence <= first.Fence {
			t.Errorf("the fence went from %d to %d", first.Fence, g.Fence)
		}
		leader.Restart(t)
		ensemble.AwaitAll()
	})
	t.Run("a lock outlives a server that hangs", func(t *testing.T) {
		// The one that the holder is connected to.
		follower := ensemble.Followers()[0]
		e := open(t, follower.URL()+","+ensemble.Leader().Addr(), zookeeper.Session(2*time.Second))
		r := request(t, ann, "a")
		granted(t, e, r)
		var connected atomic.Value
		stop := e.Capabilities().Observe(func(c engine.ServerCall) { connected.Store(c.Node) })
		renewed(t, e, r, nil)
		stop()
		for _, s := range ensemble.Servers {
			if s.Addr() == connected.Load() {
				s.Stop()
				defer s.Cont()
			}
		}
		eventually(t, "the holder renews", func() bool { return e.Renew(context.Background(), []engine.Request{r})[0] == nil })
		eventually(t, "another client is refused", func() bool { return isBusy(other, request(t, bob, "b")) })
	})
	ensemble.AwaitAll()
	t.Run("a leader that hung grants nothing when it resumes", func(t *testing.T) {
		r := request(t, ann, "a")
		r.Lease = 3 * time.Second
		leader := ensemble.Leader()
		atLeader := open(t, leader.URL(), zookeeper.Timeout(time.Second), zookeeper.Session(30*time.Second))
		first := granted(t, atLeader, r)
		leader.Stop()
		c := request(t, bob, "b")
		if _, err := atLeader.Acquire(context.Background(), c); !errors.Is(err, engine.ErrUnknown) && !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("acquire at the leader that hangs: %v, want an error that is temporary", err)
		}
		eventually(t, "the attempt is abandoned under a new leader", func() bool {
			_, err := other.Abandon(context.Background(), c)
			return err == nil
		})
		next := request(t, "eve:1", "c")
		eventually(t, "the lease expires", func() bool {
			g, err := other.Acquire(context.Background(), next)
			return err == nil && g.Fence > first.Fence
		})
		leader.Cont()
		ensemble.AwaitAll()
		c.Retry = true
		eventually(t, "the abandoned attempt is refused", func() bool {
			_, err := atLeader.Acquire(context.Background(), c)
			if err == nil {
				t.Fatal("the abandoned attempt was granted")
			}
			return errors.Is(err, engine.ErrAbandoned)
		})
		renewed(t, other, next, nil)
		renewed(t, atLeader, r, engine.ErrNotHolder)
	})
	t.Run("without a majority no lock is granted", func(t *testing.T) {
		r := request(t, ann, "a")
		granted(t, e, r)
		lost := ensemble.Followers()
		for _, s := range lost {
			s.Kill()
		}
		short := open(t, ensemble.URL(), zookeeper.Lazy(), zookeeper.Timeout(time.Second), zookeeper.Session(2*time.Second))
		c := request(t, bob, "b")
		c.Key += "other"
		for range 3 {
			start := time.Now()
			if g, err := short.Acquire(context.Background(), c); err == nil || !engine.Temporary(err) {
				t.Errorf("acquire without a majority: %+v, %v; want an error that is temporary", g, err)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("the call took %v, and its timeout is 1s", took)
			}
		}
		for _, s := range lost {
			s.Restart(t)
		}
		ensemble.AwaitAll()
		eventually(t, "the holder renews", func() bool { return e.Renew(context.Background(), []engine.Request{r})[0] == nil })
		c.Retry = true
		eventually(t, "the lock is granted", func() bool {
			_, err := short.Acquire(context.Background(), c)
			return err == nil
		})
	})
	t.Run("while leaders die there is one holder at a time", func(t *testing.T) { contendAtEnsemble(t, ensemble) })
	t.Run("a probe reports the servers and their roles", func(t *testing.T) {
		h, err := e.Probe(t.Context())
		if err != nil || h.Topology != engine.Ensemble || len(h.Nodes) != 3 {
			t.Fatalf("got %+v, %v; want three nodes of an ensemble", h, err)
		}
		primaries := 0
		for _, n := range h.Nodes {
			if n.Err != nil || n.Version == "" {
				t.Errorf("node %+v, want no error", n)
			}
			if n.Role == engine.Primary {
				primaries++
			}
		}
		if primaries != 1 {
			t.Errorf("%d primaries in %+v, want one", primaries, h.Nodes)
		}
		one := open(t, "zk://"+strings.Split(strings.TrimPrefix(ensemble.URL(), "zk://"), ",")[0])
		if h, err := one.Probe(t.Context()); err != nil || h.Topology != engine.Ensemble {
			t.Errorf("through one of the servers: %+v, %v; want an ensemble", h, err)
		}
	})
}

// contendAtEnsemble lets the clients of three engines compete for a lock while leaders are
// killed. At most one holds it at a time, and fences rise.
func contendAtEnsemble(t *testing.T, ensemble *zookeepertest.Ensemble) {
	const wanted = 100
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // elections take long on a busy machine
	defer cancel()
	var (
		log    history.Log
		all    sync.WaitGroup
		grants atomic.Int64
	)
	for n := range 3 {
		client := interlock.New(open(t, ensemble.URL(), zookeeper.Session(2*time.Second)))
		t.Cleanup(func() { _ = client.Close(context.Background()) })
		for actor := range 2 {
			all.Go(func() {
				by := history.Event{Key: key(t), Actor: fmt.Sprint("p", n, ".", actor), Process: fmt.Sprint("p", n)}
				for ctx.Err() == nil {
					if enter(ctx, client, &log, by, actor == 1) {
						grants.Add(1)
					}
				}
			})
		}
	}
	for range 2 {
		before := grants.Load()
		leader := ensemble.Leader()
		leader.Kill()
		for ctx.Err() == nil && grants.Load() < before+wanted/2 { // the other two go on
			pause(ctx, 10*time.Millisecond)
		}
		leader.Restart(t)
		ensemble.AwaitAll()
	}
	cancel()
	all.Wait()
	if err := history.Check(log.Events()).Err(); err != nil {
		t.Error(err)
	}
	if n := grants.Load(); n < wanted {
		t.Errorf("%d grants after two leaders died, want at least %d", n, wanted)
	}
}

// lockAtEveryServer requires that a lock and its release are seen at every server at
// once, also at those that lag behind the leader.
func lockAtEveryServer(t *testing.T, ensemble *zookeepertest.Ensemble) {
	var engines []*zookeeper.Engine
	for _, s := range ensemble.Servers {
		engines = append(engines, open(t, s.URL()))
	}
	for i := range 60 {
		holder, next := engines[i%3], engines[(i+1)%3]
		r := request(t, ann, "a")
		granted(t, holder, r)
		busy(t, next, request(t, bob, "b"))
		released(t, holder, r, engine.Released)
		if l := inspect(t, next, r.Key); len(l.Holders) > 0 {
			t.Fatalf("after the release another server lists the holders %+v", l.Holders)
		}
		c := request(t, bob, "b")
		granted(t, next, c)
		released(t, engines[(i+2)%3], c, engine.Released)
	}
}

func isBusy(e engine.Engine, r engine.Request) bool {
	_, err := e.Acquire(context.Background(), r)
	var busy *engine.BusyError
	return errors.As(err, &busy)
}

func drain(wake <-chan struct{}) {
	select {
	case <-wake:
	default:
	}
}
