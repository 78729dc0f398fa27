package redisengine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// keyAt returns a key of a primary.
func keyAt(t testing.TB, c *redistest.Cluster, primary *redistest.Server) string {
	t.Helper()
	for i := range 1000 {
		if k := fmt.Sprintf("%s:%d", key(t), i); c.Home(k) == primary {
			return k
		}
	}
	t.Fatal("no key of this test is on that primary")
	return ""
}

// A demoted primary keeps running, so connections to it must be closed.
func TestASubscriberFollowsTheSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	wake := listen(t, openURL(t, s.URL()), "k")
	s.Failover()
	wantSubscriber(t, s, "k", wake)
}

func TestASubscriberLeavesAReplicaThatAnOutdatedSentinelNamed(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	wake := listen(t, openURL(t, s.URL()), "k")
	old, _ := s.Overtake()
	s.Successor(old)
	wantSubscriber(t, s, "k", wake)
}

// wantSubscriber waits until the primary has the subscriber, and checks that it receives
// messages. It asks for the primary each time: on a busy machine, the sentinels may fail over
// once more.
func wantSubscriber(t *testing.T, s *redistest.Sentinel, key string, wake <-chan struct{}) {
	t.Helper()
	var primary *redistest.Server
	eventually(t, "the new primary has the subscriber", func() bool {
		primary = s.Primary()
		n, err := primary.Do("PUBSUB", "NUMSUB", channelOf(key))
		return err == nil && strings.HasSuffix(n, "\n1")
	})
	for len(wake) > 0 {
		<-wake
	}
	primary.Must("PUBLISH", channelOf(key), "0")
	awaitWake(t, wake)
}

func TestAShardThatIsDownDoesNotAffectOtherSubscriptions(t *testing.T) {
	t.Parallel()
	for _, m := range []redisengine.PublishMode{redisengine.Plain, redisengine.Sharded} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			if m == redisengine.Sharded {
				redistest.Needs7(t)
			}
			c := redistest.StartCluster(t)
			dead, healthy := c.Servers[0], c.Servers[1]
			deadKey, liveKey := keyAt(t, c, dead), keyAt(t, c, healthy)
			replica := c.ReplicaOf(dead)
			e := openURL(t, c.URL(), redisengine.Publish(m))
			live, restored := listen(t, e, liveKey), listen(t, e, deadKey)
			replica.Kill()
			dead.Kill()
			awaitWake(t, live) // resubscribing wakes all waiters once

			// Each new subscription wakes its waiters. After that, no wake-up may come.
			for end, lastWake := time.Now().Add(30*time.Second), time.Now(); time.Since(lastWake) < 3*time.Second; {
				select {
				case <-live:
					lastWake = time.Now()
				case <-time.After(100 * time.Millisecond):
				}
				if time.Now().After(end) {
					t.Fatal("waiters are still woken after 30s")
				}
			}
			for range 3 {
				healthy.Must(string(m), channelOf(liveKey), "0")
				awaitWake(t, live)
			}

			for len(restored) > 0 {
				<-restored
			}
			dead.Restart()
			awaitWake(t, restored) // subscribed again
		})
	}
}

// A node counts the subscribers that are connected to it, so a subscriber must be at the
// node of its lock. Otherwise a process with waiters of its own yields to no other.
func TestListenersOnAClusterAreCounted(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, "--cluster-node-timeout", "600000")
	for _, m := range []redisengine.PublishMode{redisengine.Plain, redisengine.Sharded} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			if m == redisengine.Sharded {
				redistest.Needs7(t)
			}
			e := openURL(t, c.URL(), redisengine.Publish(m))
			for _, node := range c.Servers[:3] {
				r := request(t, ann, "a")
				r.Key = keyAt(t, c, node)
				listen(t, e, r.Key)
				granted(t, e, r)
				if l := inspected(t, e, r.Key); l.Listeners != 1 {
					t.Errorf("inspecting a lock at %s: %d listeners, want 1", node.Addr(), l.Listeners)
				}
				released(t, e, r, engine.ReleaseResult{Outcome: engine.Released, Listeners: 1})
			}
		})
	}
}

// The slots are read from all nodes at once, and the first answer is used. So a node that
// hangs delays no grant by another node.
func TestNodesThatHangDelayNoGrantElsewhere(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, "--cluster-node-timeout", "60000")
	hanging, healthy := c.Servers[0], c.Servers[1]
	tag, replica := keyAt(t, c, healthy), c.ReplicaOf(hanging)
	e := openURL(t, c.URL()+"?refresh=1ms", redisengine.Acknowledge(redisengine.AnyAck))
	replica.Stop()
	hanging.Stop()
	defer replica.Cont()
	defer hanging.Cont()
	for i := range 50 {
		r, began := request(t, ann, "a"), time.Now()
		r.Key = fmt.Sprintf("{%s}:%d", tag, i)
		granted(t, e, r)
		if took := time.Since(began); took > testTimeout/2 { // a node that hangs costs a timeout
			t.Fatalf("a grant took %v, want at most %v", took, testTimeout/2)
		}
	}
}

func TestAcksOfAMigratingSlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	from, to := c.Servers[0], c.Servers[1]
	tag := keyAt(t, c, from)
	e := openURL(t, c.URL(), redisengine.Acknowledge(redisengine.AnyAck))
	lock := func(i int) engine.Request {
		r := request(t, ann, fmt.Sprint(i))
		r.Key = fmt.Sprintf("{%s}:%d", tag, i)
		return r
	}
	granted(t, e, lock(1))
	m := c.Begin(tag, to)
	refused(t, e, lock(2), engine.ErrUnavailable)
	m.End()
	granted(t, e, lock(3))
}

func TestCancelingTheCallerEndsTheWaitForReplicas(t *testing.T) {
	t.Parallel()
	e := open(t, redistest.Start(t), redisengine.Acknowledge(redisengine.AnyAck), redisengine.AckTimeout(20*time.Second))
	for i := range 2 { // the second call does not wait for the first one's connection
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(200*time.Millisecond, cancel)
		began := time.Now()
		_, err := e.Acquire(ctx, withIndex(request(t, ann, "a"), i))
		if !errors.Is(err, engine.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("acquire: %v, want %v", err, engine.ErrUnknown)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the canceled call took %v, want at most 5s", took)
		}
	}
}

// WAIT with a timeout of 0 would block for ever.
func TestAnAckTimeoutBelowOneMillisecondIsRoundedUp(t *testing.T) {
	t.Parallel()
	e := open(t, redistest.Start(t), redisengine.Acknowledge(redisengine.AnyAck), redisengine.AckTimeout(time.Microsecond))
	refused(t, e, request(t, ann, "a"), engine.ErrUnavailable)
}

func TestATimeoutIsNotTheCallersDeadline(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e := open(t, s, redisengine.Acknowledge(redisengine.AnyAck), redisengine.AckTimeout(100*time.Millisecond), redisengine.Timeout(2*time.Second))
	refused(t, e, request(t, ann, "a"), engine.ErrUnavailable) // opens the connection
	s.Stop()
	defer s.Cont()
	_, err := e.Acquire(context.Background(), request(t, ann, "b"))
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire: %v, want an error other than context.DeadlineExceeded", err)
	}
}
