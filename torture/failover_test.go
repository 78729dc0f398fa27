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

// TestFailover lets primaries fail over under load, again and again (R2, T7). There
// are two groups. The locks of one are acknowledged by all replicas: a promoted replica
// has them, so no lock may ever have two holders. Those of the
// other are not: they may be granted twice, which is counted, and then their fences
// tell them apart.
func TestFailover(t *testing.T) {
	n := 10
	if testing.Short() {
		n = 4
	}
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinel(t)
		rounds(t, "sentinel", s.URL(), n, map[string]func(){
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
				p.Cont() // and takes itself for the primary, until it is told
			},
			"forgetful": func() {
				p, replicas := s.Primary(), s.Replicas()
				cutOff(p, replicas...)
				time.Sleep(300 * time.Millisecond) // of grants that only the dead will know of
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
		rounds(t, "cluster", c.URL(), n, map[string]func(){
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
			"forgetful": func() {
				p := home()
				r := c.ReplicaOf(p)
				cutOff(p, r)
				time.Sleep(300 * time.Millisecond) // of grants that only the dead will know of
				p.Kill()
				r.Cont()
				c.Promoted(r)
				p.Restart()
			},
		}, c.Healthy)
	})
}

// failKeys is how many locks each crowd is after.
const failKeys = 6

func failKey(i int) string { return fmt.Sprint("failover:", i) }

// kindsOfFailover are the faults of the rounds, in turn.
var kindsOfFailover = []string{"planned", "forgetful", "killed", "paused"}

// rounds runs the rounds and prints what came of them.
func rounds(t *testing.T, name, url string, n int, faults map[string]func(), healthy func()) {
	sure := newCrowd(t, url+"?acks=all&ack_timeout=500ms", "sure:", false, interlock.Lease(6*time.Second))
	fast := newCrowd(t, url, "fast:", true, interlock.Fenced(), interlock.Watchdog(3*time.Second))
	begun, counts := time.Now(), make(map[string]int)
	for i := range n {
		kind := kindsOfFailover[i%len(kindsOfFailover)]
		counts[kind]++
		faults[kind]()
		healthy()
		sure.goOn(20)
		fast.goOn(100)
	}
	sure.end()
	fast.end()
	if n := sure.doubles.Load(); n > 0 {
		t.Errorf("%d locks that all replicas knew of were granted twice", n)
	}
	if n := fast.backwards.Load() + sure.backwards.Load(); n > 0 {
		t.Errorf("%d fences were not above those granted before", n)
	}
	if t.Failed() {
		return
	}
	fmt.Printf("failover: %s: %d rounds %v in %v\n", name, n, counts, time.Since(begun).Round(time.Second))
	fmt.Printf("failover: %s: %d grants that all replicas knew of, 0 of them twice; longest silence %v\n",
		name, sure.grants.Load(), sure.silence())
	fmt.Printf("failover: %s: %d grants that they need not know of, %d of them twice, but never with the same fence; longest silence %v\n",
		name, fast.grants.Load(), fast.doubles.Load(), fast.silence())
}

// A crowd is after the same locks, through clients of their own, and watches
// itself.
type crowd struct {
	t       *testing.T
	ctx     context.Context
	stop    context.CancelFunc
	workers sync.WaitGroup

	slow      bool // some stay for long
	keys      [failKeys]witness
	grants    atomic.Int64
	doubles   atomic.Int64 // granted although another believed to have it
	backwards atomic.Int64
	refusals  atomic.Int64 // errors that say what is the matter
	losses    atomic.Int64 // of locks that were held
	handed    sync.Map     // of passed

	mu      sync.Mutex
	last    time.Time // when something was granted
	longest time.Duration
}

// A witness sees who is inside of a lock.
type witness struct {
	mu     sync.Mutex
	inside map[*interlock.Hold]<-chan struct{} // closed once it is known to be over
	fence  uint64                              // the highest so far
}

func newCrowd(t *testing.T, url, prefix string, slow bool, opts ...interlock.Option) *crowd {
	t.Helper()
	c := &crowd{t: t, slow: slow, last: time.Now()}
	c.ctx, c.stop = context.WithCancel(context.Background())
	opts = append(opts, interlock.Wait(2*time.Second))
	for range 3 {
		e, err := redisengine.Open(t.Context(), url, redisengine.Prefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		client := interlock.New(e, interlock.WithTrace(&interlock.Trace{Acquired: func(a interlock.Acquired) {
			if a.HandedOver {
				c.handed.Store(passed{a.Key, a.Fence}, true)
			}
		}}))
		for range 3 {
			c.workers.Go(func() { c.work(client, opts) })
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = client.Close(ctx)
			_ = e.Close()
		})
	}
	t.Cleanup(c.end)
	return c
}

// end stops all workers.
func (c *crowd) end() {
	c.stop()
	c.workers.Wait()
}

// work takes one lock after the other.
func (c *crowd) work(client *interlock.Client, opts []interlock.Option) {
	for c.ctx.Err() == nil {
		i := rand.N(failKeys)
		before := c.keys[i].highest()
		held, hold, err := client.Mutex(failKey(i), opts...).Lock(c.ctx)
		if err != nil {
			c.clear(err)
			continue
		}
		c.enter(held, hold, i, before)
		select {
		case <-time.After(c.stay()):
		case <-held.Done():
			if errors.Is(context.Cause(held), interlock.ErrLost) {
				c.losses.Add(1)
			}
		}
		c.leave(i, hold)
		c.clear(hold.Unlock())
	}
}

// stay is how long a lock is held. A few are held across a failover.
func (c *crowd) stay() time.Duration {
	if c.slow && rand.N(40) == 0 {
		return 2 * time.Second
	}
	return rand.N(20 * time.Millisecond)
}

// highest is the highest fence that was granted so far.
func (w *witness) highest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fence
}

// passed is a lock that one holder passed on to the next in its process.
type passed struct {
	key   string
	fence uint64
}

// enter records a grant, and whether another process believes it holds the lock. The
// fence must be above all fences granted before the request, unless a holder that had
// lost the lock without notice handed it over: then it is lower, and a store refuses it.
// No two holders may have the same fence.
func (c *crowd) enter(held context.Context, hold *interlock.Hold, i int, before uint64) {
	w := &c.keys[i]
	w.mu.Lock()
	_, handed := c.handed.LoadAndDelete(passed{failKey(i), hold.Fence()})
	backwards := hold.Fence() <= before && !handed
	for other, over := range w.inside {
		select {
		case <-over:
		default:
			c.doubles.Add(1)
		}
		backwards = backwards || other.Fence() == hold.Fence()
	}
	if backwards {
		c.backwards.Add(1)
	}
	w.fence = max(w.fence, hold.Fence())
	if w.inside == nil {
		w.inside = make(map[*interlock.Hold]<-chan struct{})
	}
	w.inside[hold] = held.Done()
	w.mu.Unlock()
	c.grants.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, time.Since(c.last))
	c.last = time.Now()
}

func (c *crowd) leave(i int, hold *interlock.Hold) {
	w := &c.keys[i]
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.inside, hold)
}

// clear demands that an error says what is the matter.
func (c *crowd) clear(err error) {
	if err == nil || c.ctx.Err() != nil {
		return
	}
	for _, known := range []error{interlock.ErrUnavailable, interlock.ErrOutcomeUnknown, interlock.ErrContended, interlock.ErrLost} {
		if errors.Is(err, known) {
			c.refusals.Add(1)
			return
		}
	}
	c.t.Errorf("an error that does not say what is the matter: %v", err)
}

// goOn waits until so many more locks were granted.
func (c *crowd) goOn(n int64) {
	c.t.Helper()
	want := c.grants.Load() + n
	for end := time.Now().Add(time.Minute); c.grants.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%d locks were granted within a minute, want %d", c.grants.Load()-want+n, n)
		}
	}
}

func (c *crowd) silence() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.longest.Round(10 * time.Millisecond)
}
