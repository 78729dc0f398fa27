package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/engine/quorum"
)

// TestRandomFaults lets several processes compete for one lock on five nodes. Up to two
// nodes at a time are down, hang, lose replies, answer late or lose their data. T11 and
// R2: at most one process holds the lock at any time, and fences rise.
func TestRandomFaults(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 5
	}
	var grants, faults int
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, random: rand.New(rand.NewPCG(seed, 11))}
				w.run(time.Minute)
				grants, faults = grants+w.grants, faults+w.faults
			})
		})
	}
	t.Logf("%d grants and %d faults", grants, faults)
	if grants < 100*int(seeds) || faults < 20*int(seeds) {
		t.Errorf("%d grants and %d faults are too few, want at least %d and %d", grants, faults, 100*seeds, 20*seeds)
	}
}

// A world is the nodes, the competing processes, and the current holder.
type world struct {
	t       *testing.T
	servers []*server

	mu     sync.Mutex
	random *rand.Rand
	holder string
	until  time.Time // until when holder may rely on its lease
	fence  uint64    // the highest fence so far, with its reserve
	grants int
	faults int
}

const (
	shortLease      = time.Second
	longest         = 2 * shortLease
	processes       = 4
	maxFaulty       = 2                    // faulty nodes at a time: a minority of five
	probationPassed = longest + longest/50 // longer than the probation of a restarted node
)

func (w *world) run(d time.Duration) {
	var nodes []engine.Engine
	w.servers, nodes = servers(5)
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var all sync.WaitGroup
	for i := range processes {
		e, err := quorum.New(nodes, quorum.LongestLease(longest))
		if err != nil {
			w.t.Fatal(err)
		}
		all.Go(func() {
			defer e.Close()
			w.work(ctx, e, i)
		})
	}
	for range maxFaulty {
		all.Go(func() { w.injectFaults(ctx) })
	}
	all.Wait()
	for _, s := range w.servers {
		s.Wait()
	}
}

func (w *world) number(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *world) millis(n int) time.Duration { return time.Duration(w.number(n)+1) * time.Millisecond }

// injectFaults injects a fault into one node after the other, and heals it.
func (w *world) injectFaults(ctx context.Context) {
	for ctx.Err() == nil {
		s := w.pick()
		if s == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		w.fault(s)
		time.Sleep(w.millis(1500))
		s.Heal()
		time.Sleep(150 * time.Millisecond) // until delayed requests have arrived
		if s.rebooted {
			s.rebooted = false
			time.Sleep(probationPassed)
		}
		w.mu.Lock()
		s.faulty = false
		w.mu.Unlock()
		time.Sleep(w.millis(300))
	}
}

// pick chooses a healthy node.
func (w *world) pick() *server {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.servers[w.random.IntN(len(w.servers))]
	if s.faulty {
		return nil
	}
	s.faulty = true
	w.faults++
	return s
}

func (w *world) fault(s *server) {
	switch w.number(6) {
	case 0:
		s.die()
	case 1:
		s.hang()
	case 2:
		s.all(enginetest.Fault{Do: enginetest.LoseReply})
	case 3:
		s.all(enginetest.Fault{Do: enginetest.Delay, After: w.millis(150)})
	case 4:
		s.die()
		time.Sleep(time.Millisecond)
		s.reboot()
		s.rebooted = true
		s.Heal()
	case 5:
		s.all(enginetest.Fault{Do: enginetest.Duplicate})
	}
}

// work acquires the lock repeatedly, like a client.
func (w *world) work(ctx context.Context, e engine.Engine, i int) {
	for n := 0; ctx.Err() == nil; n++ {
		r := engine.Request{Key: "k", Holder: fmt.Sprintf("p%d:%d", i, n), Attempt: fmt.Sprintf("p%d:%d", i, n),
			Lease: shortLease, Fenced: true, FenceReserve: 4}
		sent := time.Now()
		g, err := e.Acquire(ctx, r)
		switch busy := (*engine.BusyError)(nil); {
		case err == nil:
			w.recordGrant(r, g, sent)
			w.holds(ctx, e, r)
		case errors.As(err, &busy):
			time.Sleep(min(busy.Left, 100*time.Millisecond) + w.millis(5))
		default:
			_, _ = e.Abandon(context.Background(), r)
			time.Sleep(w.millis(50))
		}
	}
}

// holds renews a hold some times, and then releases or abandons it.
func (w *world) holds(ctx context.Context, e engine.Engine, r engine.Request) {
	for range w.number(4) {
		time.Sleep(w.millis(400))
		sent := time.Now()
		err := e.Renew(ctx, []engine.Request{r})[0]
		if errors.Is(err, engine.ErrNotHolder) {
			return
		}
		if err == nil && !w.recordRenewal(r, sent) {
			return
		}
	}
	if w.number(10) == 0 {
		return // the process dies, and its lease must expire
	}
	time.Sleep(w.millis(20))
	w.recordEnd(r)
	if _, err := e.Release(context.Background(), r); err != nil {
		_, _ = e.Abandon(context.Background(), r)
	}
}

// safeUntil returns until when a holder may rely on a lease that it requested at sent.
func safeUntil(sent time.Time) time.Time {
	return sent.Add(shortLease - shortLease/100 - 2*time.Millisecond)
}

// recordGrant records a grant, and checks that no other holder has the lock and that the fence
// has risen.
func (w *world) recordGrant(r engine.Request, g engine.Grant, sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.holder != "" && now.Before(w.until) && now.Before(safeUntil(sent)) {
		w.t.Errorf("%s was granted the lock, and %s holds it for another %v", r.Holder, w.holder, w.until.Sub(now))
	}
	if g.Fence <= w.fence {
		w.t.Errorf("%s has fence %d, want one above %d", r.Holder, g.Fence, w.fence)
	}
	w.holder, w.until, w.fence = r.Holder, safeUntil(sent), g.Fence+r.FenceReserve
	w.grants++
}

// recordRenewal records a renewal, and reports whether the holder could still rely on its lease.
func (w *world) recordRenewal(r engine.Request, sent time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holder != r.Holder || !time.Now().Before(w.until) {
		return false
	}
	w.until = safeUntil(sent)
	return true
}

// recordEnd records that the holder no longer relies on its lease.
func (w *world) recordEnd(r engine.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holder == r.Holder {
		w.holder = ""
	}
}
