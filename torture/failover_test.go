package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestFailover fails primaries over repeatedly under load (requirements R2, T7). There
// are two groups of locks. All replicas acknowledge the locks of the first group, so none
// of them may ever have two holders. The locks of the second group are not acknowledged:
// they may be granted twice, which is counted, but never with the same fence.
func TestFailover(t *testing.T) {
	n := 10
	if testing.Short() {
		n = 4
	}
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		runRounds(t, "sentinel", s.URL(), n, map[string]func(){
			"planned": func() { s.Failover() },
			"killed": func() {
				p := s.Primary()
				p.Kill()
				s.Successor(p)
				p.Restart()
			},
			"paused": func() {
				p := s.Primary()
				p.Stop()
				s.Successor(p)
				p.Cont() // acts as the primary until a sentinel demotes it
			},
			"unreplicated": func() {
				p, replicas := s.Primary(), s.Replicas()
				isolateReplicas(p, replicas...)
				time.Sleep(300 * time.Millisecond) // these grants are lost with the primary
				p.Kill()
				for _, r := range replicas {
					r.Cont()
				}
				s.Successor(p)
				p.Restart()
			},
		}, s.Healthy)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, "--cluster-replica-validity-factor", "0")
		home := func() *redistest.Server { return c.Home(failKey(rand.N(failKeys))) }
		runRounds(t, "cluster", c.URL(), n, map[string]func(){
			"planned": func() { c.Failover(home()) },
			"killed": func() {
				p := home()
				r := c.ReplicaOf(p)
				p.Kill()
				c.Promoted(r)
				p.Restart()
			},
			"paused": func() {
				p := home()
				r := c.ReplicaOf(p)
				p.Stop()
				c.Promoted(r)
				p.Cont()
			},
			"unreplicated": func() {
				p := home()
				r := c.ReplicaOf(p)
				isolateReplicas(p, r)
				time.Sleep(300 * time.Millisecond) // these grants are lost with the primary
				p.Kill()
				r.Cont()
				c.Promoted(r)
				p.Restart()
			},
		}, c.Healthy)
	})
}

// failKeys is the number of locks of each group.
const failKeys = 6

func failKey(i int) string { return fmt.Sprint("failover:", i) }

// failoverKinds are the faults of the rounds, in order.
var failoverKinds = []string{"planned", "unreplicated", "killed", "paused"}

// runRounds fails over n times, then checks and prints the counts.
func runRounds(t *testing.T, name, url string, n int, faults map[string]func(), healthy func()) {
	acked := newLockGroup(t, url+"?acks=all&ack_timeout=500ms", "acked:", false, interlock.Lease(6*time.Second))
	unacked := newLockGroup(t, url, "fast:", true, interlock.Fenced(), interlock.Watchdog(3*time.Second))
	begun, counts := time.Now(), make(map[string]int)
	for i := range n {
		kind := failoverKinds[i%len(failoverKinds)]
		counts[kind]++
		faults[kind]()
		healthy()
		acked.waitForGrants(20)
		unacked.waitForGrants(100)
	}
	acked.end()
	unacked.end()
	if n := acked.doubles.Load(); n > 0 {
		t.Errorf("%d acknowledged locks were granted twice, want 0", n)
	}
	if n := unacked.backwards.Load() + acked.backwards.Load(); n > 0 {
		t.Errorf("%d fences were not higher than the fences before them, want 0", n)
	}
	if t.Failed() {
		return
	}
	fmt.Printf("failover: %s: %d rounds %v in %v\n", name, n, counts, time.Since(begun).Round(time.Second))
	fmt.Printf("failover: %s: %d acknowledged grants, 0 of them twice; longest gap %v\n",
		name, acked.grants.Load(), acked.longestGap())
	fmt.Printf("failover: %s: %d unacknowledged grants, %d of them twice, but never with the same fence; longest gap %v\n",
		name, unacked.grants.Load(), unacked.doubles.Load(), unacked.longestGap())
}

// A lockGroup is a group of workers that compete for the same locks through several
// clients. It checks every grant.
type lockGroup struct {
	t       *testing.T
	ctx     context.Context
	stop    context.CancelFunc
	workers sync.WaitGroup

	slow       bool // some workers hold the lock across a failover
	keys       [failKeys]holderCheck
	grants     atomic.Int64
	doubles    atomic.Int64 // grants while another worker believed it held the lock
	backwards  atomic.Int64 // grants whose fence was not higher than earlier fences
	refusals   atomic.Int64 // documented errors
	losses     atomic.Int64 // held locks that were lost
	handedOver sync.Map     // the handovers so far, as keys

	mu      sync.Mutex
	last    time.Time // time of the last grant
	longest time.Duration
}

// A holderCheck records the current holders of a lock.
type holderCheck struct {
	mu     sync.Mutex
	inside map[*interlock.Hold]<-chan struct{} // closed when the worker knows that the hold has ended
	fence  uint64                              // the highest so far
}

func newLockGroup(t *testing.T, url, prefix string, slow bool, opts ...interlock.Option) *lockGroup {
	t.Helper()
	g := &lockGroup{t: t, slow: slow, last: time.Now()}
	g.ctx, g.stop = context.WithCancel(context.Background())
	opts = append(opts, interlock.Wait(2*time.Second))
	for range 3 {
		e, err := redisengine.Open(t.Context(), url, redisengine.Prefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		client := interlock.New(e, interlock.WithTrace(&interlock.Trace{Acquired: func(a interlock.Acquired) {
			if a.HandedOver {
				g.handedOver.Store(handover{a.Key, a.Fence}, true)
			}
		}}))
		for range 3 {
			g.workers.Go(func() { g.work(client, opts) })
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = client.Close(ctx)
			_ = e.Close()
		})
	}
	t.Cleanup(g.end)
	return g
}

// end stops the workers and waits for them.
func (g *lockGroup) end() {
	g.stop()
	g.workers.Wait()
}

// work acquires random locks until the group ends.
func (g *lockGroup) work(client *interlock.Client, opts []interlock.Option) {
	for g.ctx.Err() == nil {
		i := rand.N(failKeys)
		before := g.keys[i].highestFence()
		held, hold, err := client.Mutex(failKey(i), opts...).Lock(g.ctx)
		if err != nil {
			g.wantKnownError(err)
			continue
		}
		g.recordGrant(held, hold, i, before)
		select {
		case <-time.After(g.holdTime()):
		case <-held.Done():
			if errors.Is(context.Cause(held), interlock.ErrLost) {
				g.losses.Add(1)
			}
		}
		g.recordRelease(i, hold)
		g.wantKnownError(hold.Unlock())
	}
}

// holdTime returns how long to hold a lock. In a slow group a few holds last across a
// failover.
func (g *lockGroup) holdTime() time.Duration {
	if g.slow && rand.N(40) == 0 {
		return 2 * time.Second
	}
	return rand.N(20 * time.Millisecond)
}

// highestFence returns the highest fence granted so far.
func (h *holderCheck) highestFence() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fence
}

// A handover is a lock that a holder passed to the next waiter in its process.
type handover struct {
	key   string
	fence uint64
}

// recordGrant records a grant, and whether another worker believes it holds the lock. No two
// holders may have the same fence. The fence must be higher than all fences granted before
// the request, with one exception: a holder that did not know of its loss may hand the lock
// over. Then the fence is lower, and a store refuses it.
func (g *lockGroup) recordGrant(held context.Context, hold *interlock.Hold, i int, before uint64) {
	h := &g.keys[i]
	h.mu.Lock()
	_, handedOver := g.handedOver.LoadAndDelete(handover{failKey(i), hold.Fence()})
	backwards := hold.Fence() <= before && !handedOver
	for other, ended := range h.inside {
		select {
		case <-ended:
		default:
			g.doubles.Add(1)
		}
		backwards = backwards || other.Fence() == hold.Fence()
	}
	if backwards {
		g.backwards.Add(1)
	}
	h.fence = max(h.fence, hold.Fence())
	if h.inside == nil {
		h.inside = make(map[*interlock.Hold]<-chan struct{})
	}
	h.inside[hold] = held.Done()
	h.mu.Unlock()
	g.grants.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.longest = max(g.longest, time.Since(g.last))
	g.last = time.Now()
}

func (g *lockGroup) recordRelease(i int, hold *interlock.Hold) {
	h := &g.keys[i]
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.inside, hold)
}

// wantKnownError checks that an error is one of the documented errors.
func (g *lockGroup) wantKnownError(err error) {
	if err == nil || g.ctx.Err() != nil {
		return
	}
	for _, known := range []error{interlock.ErrUnavailable, interlock.ErrOutcomeUnknown, interlock.ErrContended, interlock.ErrLost} {
		if errors.Is(err, known) {
			g.refusals.Add(1)
			return
		}
	}
	g.t.Errorf("undocumented error: %v", err)
}

// waitForGrants waits for n more grants.
func (g *lockGroup) waitForGrants(n int64) {
	g.t.Helper()
	want := g.grants.Load() + n
	for end := time.Now().Add(time.Minute); g.grants.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("%d locks were granted within 1m, want %d", g.grants.Load()-want+n, n)
		}
	}
}

func (g *lockGroup) longestGap() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.longest.Round(10 * time.Millisecond)
}
