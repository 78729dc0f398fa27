package torture

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestTopologyFaults proves the rows of the fault matrix that need several servers, on
// real sentinels and a real cluster (requirements R2, T7).
func TestTopologyFaults(t *testing.T) {
	for _, r := range append(sentinelRows, clusterRows...) {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.fault), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r.prove(t)
			if !t.Failed() {
				fmt.Printf("fault %02d  %-46s %s (%v)\n", r.number, r.fault, r.result, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// A topologyFixture is a fixture with several servers and two clients.
type topologyFixture struct {
	fixture
	url string
}

func newTopologyFixture(t *testing.T, url string) *topologyFixture {
	f := &topologyFixture{fixture: fixture{t: t}, url: url}
	f.engine = f.openEngine(url)
	f.client, f.other = f.newClient(f.engine), f.newClient(f.openEngine(url))
	return f
}

// lockAndUnlockOn acquires and releases a lock, waiting up to 30s for it.
func (f *topologyFixture) lockAndUnlockOn(c *interlock.Client, name string) {
	f.t.Helper()
	_, hold := f.lock(c.Mutex(name, interlock.Wait(30*time.Second)))
	f.unlock(hold)
}

// isolateReplicas stops replicas and closes their connections to the primary.
func isolateReplicas(primary *redistest.Server, replicas ...*redistest.Server) {
	for _, r := range replicas {
		r.Stop()
	}
	primary.Must("CLIENT", "KILL", "TYPE", "replica")
}

// wantHigherFence checks that the second fence is higher than the first.
func (f *topologyFixture) wantHigherFence(before, after *interlock.Hold) {
	f.t.Helper()
	if after.Fence() <= before.Fence() {
		f.t.Fatalf("the second fence is %d, want one above %d", after.Fence(), before.Fence())
	}
}

var sentinelRows = []row{
	{16, "planned failover behind sentinels", "the lock stays held; new locks are on the new primary", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		f := newTopologyFixture(t, s.URL())
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		s.InStep()
		s.Failover()
		f.lockAndUnlockOn(f.other, "fault:2")
		f.wantHeld(ctx, 7*time.Second)
		if _, _, err := f.other.Mutex(key).TryLock(t.Context()); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("another caller got %v for a held lock, want ErrContended", err)
		}
		f.unlock(hold)
	}},
	{15, "failover of a dead primary, the lock not replicated", "the hold is lost with ErrNotHolder; the next holder has a higher fence", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		f := newTopologyFixture(t, s.URL())
		primary, replicas := s.Primary(), s.Replicas()
		isolateReplicas(primary, replicas...)
		ctx, first := f.lock(f.client.Mutex(key, interlock.Fenced(), interlock.Watchdog(20*time.Second)))
		primary.Kill()
		for _, x := range replicas {
			x.Cont()
		}
		s.Successor(primary)
		_, second := f.lock(f.other.Mutex(key, interlock.Fenced(), interlock.Wait(30*time.Second)))
		f.wantHigherFence(first, second)
		f.wantLost(ctx, 20*time.Second, interlock.ErrNotHolder)
		f.unlock(second)
	}},
	{14, "a grant that no replica acknowledges, with acks", "the grant is released; the caller gets ErrUnavailable", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		f := newTopologyFixture(t, s.URL()+"?acks=any&ack_timeout=300ms")
		f.lockAndUnlockOn(f.client, "fault:2")
		primary, replicas := s.Primary(), s.Replicas()
		for _, w := range s.Watchers {
			w.Stop() // otherwise they would report the replicas as down
		}
		isolateReplicas(primary, replicas...)
		_, _, err := f.client.Mutex(key).TryLock(t.Context())
		f.wantErr(err, interlock.ErrUnavailable)
		if primary.Must("EXISTS", key) != "0" {
			t.Error("the lock was not released")
		}
		for _, x := range append(replicas, s.Watchers...) {
			x.Cont()
		}
		f.lockAndUnlockOn(f.client, key)
	}},
	{14, "the old primary comes back as a replica (READONLY)", "calls are retried on the new primary", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		f := newTopologyFixture(t, s.URL())
		f.lockAndUnlockOn(f.client, key)
		old := s.Primary()
		old.Stop()
		s.Successor(old)
		f.lockAndUnlockOn(f.client, key)
		old.Cont()
		s.Healthy()
		for range 3 {
			f.lockAndUnlockOn(f.client, key)
			f.lockAndUnlockOn(f.other, key)
		}
		s.Failover()
		f.lockAndUnlockOn(f.client, key)
	}},
	{21, "failover during a wait", "the waiter is notified or polls, and gets the lock", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		f := newTopologyFixture(t, s.URL())
		_, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(10*time.Second)))
		got := f.startLock(f.other)
		s.InStep()
		s.Failover()
		f.lockAndUnlockOn(f.client, "fault:2")
		f.unlock(hold)
		f.wantDone(got, 30*time.Second)
	}},
}

// startLock acquires and releases the lock in the background. The channel receives the error.
func (f *topologyFixture) startLock(c *interlock.Client) <-chan error {
	f.t.Helper()
	got := make(chan error, 1)
	go func() {
		_, hold, err := c.Mutex(key, interlock.Wait(time.Minute)).Lock(f.t.Context())
		if err == nil {
			err = hold.Unlock()
		}
		got <- err
	}()
	f.eventually(10*time.Second, "a caller waits", func() bool { return c.Stats().Waiting > 0 })
	return got
}

// wantDone checks that the waiter gets the lock in time.
func (f *topologyFixture) wantDone(got <-chan error, within time.Duration) {
	f.t.Helper()
	select {
	case err := <-got:
		if err != nil {
			f.t.Fatal(err)
		}
	case <-time.After(within):
		f.t.Fatalf("the waiter did not get the lock within %v", within)
	}
}

// waitForRenewal waits for the next renewal and checks that the lock is still held.
func (f *topologyFixture) waitForRenewal(ctx context.Context) {
	f.t.Helper()
	before := f.client.Stats().Renewed
	f.eventually(30*time.Second, "a renewal", func() bool {
		return ctx.Err() != nil || f.client.Stats().Renewed > before
	})
	f.wantHeld(ctx, 0)
}

var clusterRows = []row{
	{16, "planned failover in a cluster", "the lock stays held; no other caller gets it", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL())
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		c.Failover(c.Home(key))
		if _, _, err := f.other.Mutex(key, interlock.Wait(time.Second)).Lock(t.Context()); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("another caller got %v for a held lock, want ErrContended", err)
		}
		f.wantHeld(ctx, 7*time.Second)
		f.unlock(hold)
		f.lockAndUnlockOn(f.other, key)
	}},
	{15, "a cluster node killed, the lock not replicated", "the hold is lost with ErrNotHolder; the next holder has a higher fence", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL())
		home := c.Home(key)
		replica := c.ReplicaOf(home)
		replica.Must("CONFIG", "SET", "cluster-replica-validity-factor", "0")
		isolateReplicas(home, replica)
		ctx, first := f.lock(f.client.Mutex(key, interlock.Fenced(), interlock.Watchdog(20*time.Second)))
		home.Kill()
		replica.Cont()
		c.Promoted(replica)
		_, second := f.lock(f.other.Mutex(key, interlock.Fenced(), interlock.Wait(30*time.Second)))
		f.wantHigherFence(first, second)
		f.wantLost(ctx, 20*time.Second, interlock.ErrNotHolder)
		f.unlock(second)
	}},
	{17, "a slot that moves (ASK, then MOVED)", "the engine follows the slot; the lock stays held", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL())
		ctx, hold := f.lock(f.client.Mutex(key, interlock.Watchdog(4500*time.Millisecond)))
		got := f.startLock(f.other)
		m := c.Begin(key, otherPrimary(c, key))
		f.waitForRenewal(ctx)
		m.Carry(10)
		f.waitForRenewal(ctx)
		m.End()
		f.waitForRenewal(ctx)
		f.unlock(hold)
		f.wantDone(got, 30*time.Second)
	}},
	{18, "the keys of a lock on two nodes during a move (TRYAGAIN)", "calls are retried until the slot has moved", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL())
		_, first := f.lock(f.client.Mutex(key, interlock.Fenced()))
		f.unlock(first) // its fence counter stays
		_, held := f.lock(f.client.Mutex(key))
		m := c.Begin(key, otherPrimary(c, key))
		if n := m.Carry(1); n != 1 {
			t.Fatalf("%d keys were moved, want 1 of 2", n)
		}
		time.AfterFunc(time.Second, m.End)
		f.unlock(held)
		_, second := f.lock(f.other.Mutex(key, interlock.Fenced(), interlock.Wait(20*time.Second)))
		f.wantHigherFence(first, second)
		f.unlock(second)
	}},
	{19, "an unserved slot (CLUSTERDOWN)", "the hold is lost when its lease expires; new callers get ErrUnavailable; other slots work", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL())
		home := c.Home(key)
		elsewhere := "elsewhere"
		for i := 0; c.Home(elsewhere) == home; i++ {
			elsewhere = fmt.Sprint("elsewhere:", i)
		}
		ctx, _ := f.lock(f.client.Mutex(key, interlock.Watchdog(4*time.Second)))
		otherCtx, hold := f.lock(f.client.Mutex(elsewhere, interlock.Watchdog(4*time.Second)))
		c.ReplicaOf(home).Kill()
		home.Kill()
		f.wantLost(ctx, 5*time.Second, interlock.ErrExpired)
		_, _, err := f.other.Mutex(key, interlock.Wait(time.Second)).Lock(t.Context())
		f.wantErr(err, interlock.ErrUnavailable)
		f.wantHeld(otherCtx, 5*time.Second)
		f.unlock(hold)
		f.lockAndUnlockOn(f.other, elsewhere)
	}},
	{20, "names with braces (CROSSSLOT)", "all keys of a lock are in one slot, or the name is refused", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL())
		for _, name := range []string{"order:{42}:pay", "{a}{b}", "a}b{c}", "plain"} {
			for _, lock := range []interlock.Locker{
				f.client.Mutex(name, interlock.Fenced()), f.client.Mutex(name, interlock.Fair()),
				f.client.RWMutex("rw:" + name).Write(), f.client.RWMutex("rw:" + name).Read(),
			} {
				_, hold, err := lock.Lock(t.Context())
				if err != nil {
					t.Fatalf("Lock of %s: %v", name, err)
				}
				f.unlock(hold)
			}
		}
		for _, name := range []string{"a{b", "a{}b", "a}b"} {
			if _, _, err := f.client.Mutex(name).Lock(t.Context()); err == nil {
				t.Errorf("a lock named %q was granted, want an error", name)
			}
		}
	}},
	{14, "a grant that the replica does not acknowledge, with acks", "the grant is released; the caller gets ErrUnavailable; other slots work", func(t *testing.T) {
		c := redistest.StartCluster(t)
		f := newTopologyFixture(t, c.URL()+"?acks=all&ack_timeout=300ms")
		f.lockAndUnlockOn(f.client, key)
		home := c.Home(key)
		replica := c.ReplicaOf(home)
		isolateReplicas(home, replica)
		_, _, err := f.client.Mutex(key).TryLock(t.Context())
		f.wantErr(err, interlock.ErrUnavailable)
		if home.Must("EXISTS", key) != "0" {
			t.Error("the lock was not released")
		}
		elsewhere := "elsewhere"
		for i := 0; c.Home(elsewhere) == home; i++ {
			elsewhere = fmt.Sprint("elsewhere:", i)
		}
		f.lockAndUnlockOn(f.client, elsewhere)
		replica.Cont()
		f.lockAndUnlockOn(f.client, key)
	}},
}

// otherPrimary returns a primary that does not own the slot of a key.
func otherPrimary(c *redistest.Cluster, key string) *redistest.Server {
	home := c.Home(key)
	for _, p := range c.Primaries() {
		if p != home {
			return p
		}
	}
	return nil
}
