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

// TestTopologyFaults proves the rows of the fault matrix that need more than one
// Redis, on real sentinels and a real cluster (R2, T7).
func TestTopologyFaults(t *testing.T) {
	for _, r := range append(sentinelRows, clusterRows...) {
		t.Run(fmt.Sprintf("%02d %s", r.number, r.fault), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r.prove(t)
			if !t.Failed() {
				fmt.Printf("fault %02d  %-46s %s (%v)\n", r.number, r.fault, r.answer, time.Since(start).Round(time.Millisecond))
			}
		})
	}
}

// A realm is a place with many servers, and two clients there.
type realm struct {
	place
	url string
}

func newRealm(t *testing.T, url string) *realm {
	r := &realm{place: place{t: t}, url: url}
	r.engine = r.open(url)
	r.client, r.other = r.use(r.engine), r.use(r.open(url))
	return r
}

// settles takes a lock and gives it back, as soon as that can be done again.
func (r *realm) settles(c *interlock.Client, name string) {
	r.t.Helper()
	_, hold := r.lock(c.Mutex(name, interlock.Wait(30*time.Second)))
	r.unlock(hold)
}

// cutOff lets replicas hear nothing more of their primary: they are stopped, and
// it forgets them.
func cutOff(primary *redistest.Server, replicas ...*redistest.Server) {
	for _, r := range replicas {
		r.Stop()
	}
	primary.Must("CLIENT", "KILL", "TYPE", "replica")
}

// rising demands that one fence is above another.
func (r *realm) rising(before, after *interlock.Hold) {
	r.t.Helper()
	if after.Fence() <= before.Fence() {
		r.t.Fatalf("the fence is %d after %d", after.Fence(), before.Fence())
	}
}

var sentinelRows = []row{
	{16, "planned failover behind sentinels", "held; the next lock is at the new primary", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		r := newRealm(t, s.URL())
		ctx, hold := r.lock(r.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		s.InStep()
		s.Failover()
		r.settles(r.other, "fault:2")
		r.wantHeld(ctx, 7*time.Second)
		if _, _, err := r.other.Mutex(key).TryLock(t.Context()); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("the lock is held, and another got %v", err)
		}
		r.unlock(hold)
	}},
	{15, "failover of a dead primary, the lock not replicated", "lost: not the holder; the fence of the next is higher", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		r := newRealm(t, s.URL())
		primary, replicas := s.Primary(), s.Replicas()
		cutOff(primary, replicas...)
		ctx, first := r.lock(r.client.Mutex(key, interlock.Fenced(), interlock.Watchdog(20*time.Second)))
		primary.Kill()
		for _, x := range replicas {
			x.Cont()
		}
		s.Successor(primary)
		_, second := r.lock(r.other.Mutex(key, interlock.Fenced(), interlock.Wait(30*time.Second)))
		r.rising(first, second)
		r.wantLost(ctx, 20*time.Second, interlock.ErrNotHolder)
		r.unlock(second)
	}},
	{14, "a grant that no replica hears of, with acks", "given back; unavailable", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		r := newRealm(t, s.URL()+"?acks=any&ack_timeout=300ms")
		r.settles(r.client, "fault:2")
		primary, replicas := s.Primary(), s.Replicas()
		for _, w := range s.Watchers {
			w.Stop() // they would take the replicas for dead
		}
		cutOff(primary, replicas...)
		_, _, err := r.client.Mutex(key).TryLock(t.Context())
		r.wantErr(err, interlock.ErrUnavailable)
		if primary.Must("EXISTS", key) != "0" {
			t.Error("the lock was not given back")
		}
		for _, x := range append(replicas, s.Watchers...) {
			x.Cont()
		}
		r.settles(r.client, key)
	}},
	{14, "the old primary comes back as a replica (READONLY)", "asked again at the new primary", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		r := newRealm(t, s.URL())
		r.settles(r.client, key)
		old := s.Primary()
		old.Stop()
		s.Successor(old)
		r.settles(r.client, key)
		old.Cont()
		s.Healthy()
		for range 3 {
			r.settles(r.client, key)
			r.settles(r.other, key)
		}
		s.Failover()
		r.settles(r.client, key)
	}},
	{21, "failover during a wait", "notified, or polls", func(t *testing.T) {
		s := redistest.StartSentinel(t)
		r := newRealm(t, s.URL())
		_, hold := r.lock(r.client.Mutex(key, interlock.Watchdog(10*time.Second)))
		got := r.waiting(r.other)
		s.InStep()
		s.Failover()
		r.settles(r.client, "fault:2")
		r.unlock(hold)
		r.comes(got, 5*time.Second)
	}},
}

// waiting lets a client wait for the lock, and tells when it has had it.
func (r *realm) waiting(c *interlock.Client) <-chan error {
	r.t.Helper()
	got := make(chan error, 1)
	go func() {
		_, hold, err := c.Mutex(key, interlock.Wait(time.Minute)).Lock(r.t.Context())
		if err == nil {
			err = hold.Unlock()
		}
		got <- err
	}()
	r.soon(10*time.Second, "a caller waits", func() bool { return c.Stats().Waiting > 0 })
	return got
}

// comes requires that the waiter has had the lock soon.
func (r *realm) comes(got <-chan error, within time.Duration) {
	r.t.Helper()
	select {
	case err := <-got:
		if err != nil {
			r.t.Fatal(err)
		}
	case <-time.After(within):
		r.t.Fatalf("the waiter did not get the lock within %v", within)
	}
}

// renewed waits until the lock was renewed once more, and requires that it is still held.
func (r *realm) renewed(ctx context.Context) {
	r.t.Helper()
	before := r.client.Stats().Renewed
	r.soon(30*time.Second, "a renewal", func() bool {
		return ctx.Err() != nil || r.client.Stats().Renewed > before
	})
	r.wantHeld(ctx, 0)
}

var clusterRows = []row{
	{16, "planned failover in a cluster", "held; no other caller gets it", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL())
		ctx, hold := r.lock(r.client.Mutex(key, interlock.Watchdog(6*time.Second)))
		c.Failover(c.Home(key))
		if _, _, err := r.other.Mutex(key, interlock.Wait(time.Second)).Lock(t.Context()); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("the lock is held, and another got %v", err)
		}
		r.wantHeld(ctx, 7*time.Second)
		r.unlock(hold)
		r.settles(r.other, key)
	}},
	{15, "a dead node of a cluster, the lock not replicated", "lost: not the holder; the fence of the next is higher", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL())
		home := c.Home(key)
		replica := c.ReplicaOf(home)
		replica.Must("CONFIG", "SET", "cluster-replica-validity-factor", "0")
		cutOff(home, replica)
		ctx, first := r.lock(r.client.Mutex(key, interlock.Fenced(), interlock.Watchdog(20*time.Second)))
		home.Kill()
		replica.Cont()
		c.Promoted(replica)
		_, second := r.lock(r.other.Mutex(key, interlock.Fenced(), interlock.Wait(30*time.Second)))
		r.rising(first, second)
		r.wantLost(ctx, 20*time.Second, interlock.ErrNotHolder)
		r.unlock(second)
	}},
	{17, "a slot that moves (ASK, then MOVED)", "followed; held throughout", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL())
		ctx, hold := r.lock(r.client.Mutex(key, interlock.Watchdog(4500*time.Millisecond)))
		got := r.waiting(r.other)
		m := c.Begin(key, another(c, key))
		r.renewed(ctx)
		m.Carry(10)
		r.renewed(ctx)
		m.End()
		r.renewed(ctx)
		r.unlock(hold)
		r.comes(got, 30*time.Second)
	}},
	{18, "a lock torn apart by a move (TRYAGAIN)", "asked again until it is whole", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL())
		_, first := r.lock(r.client.Mutex(key, interlock.Fenced()))
		r.unlock(first) // its counter stays
		_, held := r.lock(r.client.Mutex(key))
		m := c.Begin(key, another(c, key))
		if n := m.Carry(1); n != 1 {
			t.Fatalf("%d keys were moved, want 1 of 2", n)
		}
		time.AfterFunc(time.Second, m.End)
		r.unlock(held)
		_, second := r.lock(r.other.Mutex(key, interlock.Fenced(), interlock.Wait(20*time.Second)))
		r.rising(first, second)
		r.unlock(second)
	}},
	{19, "an unserved slot (CLUSTERDOWN)", "unavailable; lost in time; other slots go on", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL())
		home := c.Home(key)
		elsewhere := "elsewhere"
		for i := 0; c.Home(elsewhere) == home; i++ {
			elsewhere = fmt.Sprint("elsewhere:", i)
		}
		ctx, _ := r.lock(r.client.Mutex(key, interlock.Watchdog(4*time.Second)))
		spared, hold := r.lock(r.client.Mutex(elsewhere, interlock.Watchdog(4*time.Second)))
		c.ReplicaOf(home).Kill()
		home.Kill()
		r.wantLost(ctx, 5*time.Second, interlock.ErrExpired)
		_, _, err := r.other.Mutex(key, interlock.Wait(time.Second)).Lock(t.Context())
		r.wantErr(err, interlock.ErrUnavailable)
		r.wantHeld(spared, 5*time.Second)
		r.unlock(hold)
		r.settles(r.other, elsewhere)
	}},
	{20, "names with braces of their own (CROSSSLOT)", "the keys of a lock lie in one slot, or it is refused", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL())
		for _, name := range []string{"order:{42}:pay", "{a}{b}", "a}b{c}", "plain"} {
			for _, lock := range []interlock.Locker{
				r.client.Mutex(name, interlock.Fenced()), r.client.Mutex(name, interlock.Fair()),
				r.client.RWMutex("rw:" + name).Write(), r.client.RWMutex("rw:" + name).Read(),
			} {
				_, hold, err := lock.Lock(t.Context())
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				r.unlock(hold)
			}
		}
		for _, name := range []string{"a{b", "a{}b", "a}b"} {
			if _, _, err := r.client.Mutex(name).Lock(t.Context()); err == nil {
				t.Errorf("a lock named %q", name)
			}
		}
	}},
	{14, "a grant that the replica does not hear of, with acks", "given back; unavailable; other slots go on", func(t *testing.T) {
		c := redistest.StartCluster(t)
		r := newRealm(t, c.URL()+"?acks=all&ack_timeout=300ms")
		r.settles(r.client, key)
		home := c.Home(key)
		replica := c.ReplicaOf(home)
		cutOff(home, replica)
		_, _, err := r.client.Mutex(key).TryLock(t.Context())
		r.wantErr(err, interlock.ErrUnavailable)
		if home.Must("EXISTS", key) != "0" {
			t.Error("the lock was not given back")
		}
		elsewhere := "elsewhere"
		for i := 0; c.Home(elsewhere) == home; i++ {
			elsewhere = fmt.Sprint("elsewhere:", i)
		}
		r.settles(r.client, elsewhere)
		replica.Cont()
		r.settles(r.client, key)
	}},
}

// another is a primary that does not have a key.
func another(c *redistest.Cluster, key string) *redistest.Server {
	home := c.Home(key)
	for _, p := range c.Primaries() {
		if p != home {
			return p
		}
	}
	return nil
}
