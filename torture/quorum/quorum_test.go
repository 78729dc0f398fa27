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

// T11 on five Redis servers, each a process of its own: a lock is held if most of
// them say so, whatever becomes of the others. R2's exclusion with it.

type five struct {
	t       *testing.T
	servers []*redistest.Server
}

func newFive(t *testing.T) *five {
	f := &five{t: t}
	for range 5 {
		f.servers = append(f.servers, redistest.Start(t))
	}
	return f
}

// ways are addresses at which the servers are reached by one process alone, so that
// who is cut off is this process.
func (f *five) ways() []*faultnet.Proxy {
	ways := make([]*faultnet.Proxy, len(f.servers))
	for i, s := range f.servers {
		ways[i] = faultnet.New(f.t, s.Addr())
	}
	return ways
}

// join is the quorum as one process sees it.
func (f *five) join(opts ...quorum.Option) *quorum.Engine {
	f.t.Helper()
	return f.joinBy(f.ways(), opts...)
}

// joinBy is the quorum as a process sees it that has these ways to the servers.
func (f *five) joinBy(ways []*faultnet.Proxy, opts ...quorum.Option) *quorum.Engine {
	f.t.Helper()
	nodes := make([]engine.Engine, len(ways))
	for i, w := range ways {
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

func (f *five) client(e engine.Engine, opts ...interlock.Option) *interlock.Client {
	c := interlock.New(e, opts...)
	f.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// ripen waits until the servers are so old that none sits out.
func (f *five) ripen(e engine.Engine) {
	f.t.Helper()
	r := engine.Request{Key: "ripe", Holder: "ripe:1", Attempt: "1", Lease: time.Second}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		h, err := e.Capabilities().Prober.Probe(context.Background())
		if err == nil && len(h.Notices) == 0 {
			break
		}
		if time.Now().After(end) {
			f.t.Fatalf("they are not ready: %v, %v", h.Notices, err)
		}
	}
	if _, err := e.Acquire(context.Background(), r); err != nil {
		f.t.Fatal(err)
	}
	if _, err := e.Release(context.Background(), r); err != nil {
		f.t.Fatal(err)
	}
}

// cut cuts these connections.
func cut(ways ...*faultnet.Proxy) {
	for _, w := range ways {
		w.Refuse(true)
		w.Reset()
	}
}

func TestQuorumOfFiveRedisLaws(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	enginetest.Run(t, enginetest.Harness{
		Name: "quorum of 5 Redis", Lease: 6 * time.Second, // a node has a tenth of it, on a machine that may be busy
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

func TestQuorumOfFiveRedisWithoutTwo(t *testing.T) {
	t.Parallel()
	const lease, longest = 3 * time.Second, 4 * time.Second
	f := newFive(t)
	mine, theirs := f.join(quorum.LongestLease(longest)), f.join(quorum.LongestLease(longest))
	f.ripen(mine)
	one, other := f.client(mine, interlock.Watchdog(lease)), f.client(theirs, interlock.Watchdog(lease))
	held := make([]context.Context, 20)
	holds := make([]*interlock.Hold, len(held))
	for i := range held {
		var err error
		if held[i], holds[i], err = one.Mutex(fmt.Sprint("held:", i)).Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.servers[1].Kill()
	f.servers[4].Kill()

	for end, n := time.Now().Add(2*lease), 0; time.Now().Before(end); n++ {
		for i, ctx := range held {
			if ctx.Err() != nil {
				t.Fatalf("hold %d noticed that two of five nodes are down: %v", i, context.Cause(ctx))
			}
		}
		_, hold, err := other.Mutex(fmt.Sprint("new:", n)).Lock(t.Context())
		if err != nil {
			t.Fatalf("lock %d is not granted without two nodes: %v", n, err)
		}
		if err := hold.Unlock(); err != nil {
			t.Fatalf("unlock %d: %v", n, err)
		}
		if _, _, err := other.Mutex("held:0").TryLock(t.Context()); !errors.Is(err, interlock.ErrContended) {
			t.Fatalf("a held lock is answered with %v", err)
		}
	}
	for i, h := range holds {
		if err := h.Unlock(); err != nil {
			t.Errorf("unlock %d: %v", i, err)
		}
	}
}

func TestQuorumOfFiveRedisWithoutThree(t *testing.T) {
	t.Parallel()
	const lease, longest = 2 * time.Second, 3 * time.Second
	f := newFive(t)
	mine, theirs := f.join(quorum.LongestLease(longest)), f.join(quorum.LongestLease(longest))
	f.ripen(mine)
	one, other := f.client(mine, interlock.Watchdog(lease)), f.client(theirs, interlock.Watchdog(lease))
	held := make([]context.Context, 20)
	for i := range held {
		var err error
		if held[i], _, err = one.Mutex(fmt.Sprint("held:", i)).Lock(t.Context()); err != nil {
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
				t.Errorf("hold %d was not told within a lease", i)
			}
			if _, lost := errors.AsType[*interlock.LostError](context.Cause(ctx)); !lost {
				t.Errorf("hold %d ended with %v", i, context.Cause(ctx))
			}
		})
		all.Go(func() { // a waiter is granted it only then, although the three nodes return empty
			ctx2, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for {
				_, hold, err := other.Mutex(fmt.Sprint("held:", i)).Lock(ctx2)
				switch {
				case err == nil && ctx.Err() == nil:
					t.Errorf("lock %d was granted after %v, and its holder was told nothing", i, time.Since(killed))
				case err != nil && ctx2.Err() == nil:
					time.Sleep(20 * time.Millisecond)
					continue
				case err != nil:
					t.Errorf("lock %d is not granted any more: %v", i, err)
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

func TestQuorumOfFiveRedisWithANewNode(t *testing.T) {
	t.Parallel()
	const longest = 6 * time.Second
	for _, c := range []struct {
		name   string
		opts   []quorum.Option
		twice  bool
		prefix string
	}{
		{"a node started anew gives no second grant", []quorum.Option{quorum.LongestLease(longest)}, false, "a"},
		{"if none sat out there would be two holders", []quorum.Option{quorum.Durable()}, true, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t)
			ways := f.ways()
			mine, theirs := f.joinBy(ways, c.opts...), f.join(c.opts...)
			f.ripen(theirs)
			f.ripen(mine)
			ann := engine.Request{Key: "k", Holder: "ann:1", Attempt: "1", Lease: longest}
			bob := engine.Request{Key: "k", Holder: "bob:1", Attempt: "1", Lease: longest}
			cut(ways[3:]...) // for good: a vote that is won goes on asking the rest
			if _, err := mine.Acquire(t.Context(), ann); err != nil {
				t.Fatal(err)
			}
			f.servers[2].Restart() // of the three that know of the hold, one has forgotten it
			granted := false
			for end := time.Now().Add(longest / 2); time.Now().Before(end) && !granted; time.Sleep(50 * time.Millisecond) {
				_, err := theirs.Acquire(t.Context(), bob)
				granted = err == nil
			}
			if granted != c.twice {
				t.Errorf("a second grant: %v, want %v", granted, c.twice)
			}
			if c.twice {
				return
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				if _, err := theirs.Acquire(t.Context(), bob); err == nil {
					break
				} else if time.Now().After(end) {
					t.Fatalf("it is not granted when the lease has run out: %v", err)
				}
			}
		})
	}
}
