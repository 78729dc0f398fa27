package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/etcd"
	"github.com/interlock-go/interlock/internal/testing/etcdtest"
)

// A contest is callers that compete for one lock, each with an engine of its own.
type contest struct {
	t       *testing.T
	key     string
	inside  atomic.Int32
	last    atomic.Uint64 // the highest fence so far
	entered atomic.Int32
}

// TestContest requires that there is one holder at a time, and that fences rise, while
// leaders stop and die.
func TestContest(t *testing.T) {
	t.Parallel()
	t.Run("while leaders stop and die there is one holder at a time", func(t *testing.T) {
		t.Parallel()
		members, _, client := cluster(t)
		c := &contest{t: t, key: "contest"}
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for i := range 5 {
			kind := engine.Exclusive
			if i%2 == 1 {
				kind = engine.Fair
			}
			e := open(t, etcdtest.URL(members), etcd.Timeout(short))
			callers.Go(func() { c.compete(ctx, e, i, kind) })
		}
		for round := range 4 {
			time.Sleep(2 * time.Second)
			m := members[leader(t, client)]
			if round%2 == 0 {
				m.Stop()
				time.Sleep(4 * time.Second) // longer than an election and a lease
				m.Cont()
			} else {
				m.Kill()
				m.Restart()
			}
		}
		for end := time.Now().Add(2 * time.Minute); c.entered.Load() < 100 && time.Now().Before(end); { // elections take long on a busy machine
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
		callers.Wait()
		if n := c.entered.Load(); n < 100 {
			t.Errorf("the lock was granted %d times, want at least 100", n)
		}
	})
	t.Run("a renewed lease survives a leader that wakes up", func(t *testing.T) {
		t.Parallel()
		// A renewal that meets the stopped member takes up to two thirds of the timeout.
		members, e, client := cluster(t, etcd.Timeout(6*time.Second))
		r := request(ann)
		r.Lease = 15 * time.Second
		granted(t, e, r)
		m := members[leader(t, client)]
		m.Stop()
		renewFor(t, e, r, r.Lease+3*time.Second) // the lease ends on the old leader's clock
		m.Cont()
		renewFor(t, e, r, 8*time.Second)
		busy(t, e, by(bob, r))
	})
}

// renewFor renews the lease of r for a while, and fails if it is lost. Single renewals may
// fail.
func renewFor(t *testing.T, e engine.Engine, r engine.Request, d time.Duration) {
	t.Helper()
	for start, last := time.Now(), time.Now(); time.Since(start) < d; time.Sleep(time.Second) {
		began := time.Now()
		err := e.Renew(t.Context(), []engine.Request{r})[0]
		switch {
		case err == nil:
			last = began
		case !engine.Temporary(err) && time.Since(last) < r.Lease:
			t.Fatalf("after %v: %v, although the lease was renewed %v ago", time.Since(start), err, time.Since(last))
		case !engine.Temporary(err):
			t.Skip("the machine was too slow for a verdict")
		}
	}
}

// compete acquires and releases the lock until ctx ends.
func (c *contest) compete(ctx context.Context, e engine.Engine, i int, kind engine.Kind) {
	for n := 0; ctx.Err() == nil; n++ {
		r := engine.Request{
			Key: c.key, Kind: kind, Holder: fmt.Sprintf("caller-%d:%d", i, n), Attempt: fmt.Sprint(n),
			Lease: 3 * time.Second, QueueLease: 3 * time.Second,
		}
		start := time.Now()
		g, err := e.Acquire(context.Background(), r)
		if err == nil && time.Since(start) < r.Lease/2 {
			c.enter(g)
			_, err = e.Release(context.Background(), r)
		}
		var b *engine.BusyError
		switch {
		case errors.As(err, &b):
			time.Sleep(10 * time.Millisecond)
		case err != nil && !engine.Temporary(err):
			c.t.Errorf("caller %d: %v", i, err)
		}
		for err != nil { // as a caller that gives up does
			if _, err = e.Abandon(context.Background(), r); err != nil && !engine.Temporary(err) {
				c.t.Errorf("abandon by caller %d: %v", i, err)
				return
			}
		}
	}
}

// enter is what a holder does.
func (c *contest) enter(g engine.Grant) {
	if n := c.inside.Add(1); n != 1 {
		c.t.Errorf("%d holders are inside at once", n)
	}
	if last := c.last.Swap(g.Fence); last >= g.Fence {
		c.t.Errorf("fence %d follows fence %d", g.Fence, last)
	}
	time.Sleep(time.Millisecond)
	c.entered.Add(1)
	c.inside.Add(-1)
}
