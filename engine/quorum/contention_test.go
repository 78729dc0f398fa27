package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
	"github.com/interlock-go/interlock/engine/quorum"
)

// TestContention lets eight processes compete for one lock on a network where none is
// first at every node. T11: votes are split, and one process still gets the lock soon.
func TestContention(t *testing.T) {
	for _, nodes := range []int{3, 5} {
		bubble(t, fmt.Sprintf("eight processes that compete for one lock of %d nodes all get it soon", nodes), func(t *testing.T) {
			const many, turns = 8, 25
			remote := make([]engine.Engine, nodes)
			for i := range remote {
				remote[i] = delayed{memory.New()}
			}
			var all sync.WaitGroup
			var tries, holders atomic.Int32
			start := time.Now()
			for i := range many {
				e := newQuorum(t, remote, quorum.Durable())
				all.Go(func() {
					for turn := range turns {
						tries.Add(acquireAndRelease(t, e, i, turn, &holders))
					}
				})
			}
			all.Wait()
			took := time.Since(start)
			t.Logf("%d grants in %v: %.1f tries and %v for each", many*turns, took, float64(tries.Load())/(many*turns), took/(many*turns))
			if most := many * turns * 20 * time.Millisecond; took > most {
				t.Errorf("%d grants took %v, want at most %v", many*turns, took, most)
			}
		})
	}
}

// TestSplitVote checks the refusal after a split vote.
func TestSplitVote(t *testing.T) {
	bubble(t, "a split vote is retried soon, or when the leases of dead callers expire", func(t *testing.T) {
		nodes := memoryNodes(5)
		e := newQuorum(t, nodes, quorum.Durable())
		for i, holder := range []string{"ann", "ann", "bob", "bob"} {
			if _, err := nodes[i].Acquire(context.Background(), request(holder)); err != nil {
				t.Fatal(err)
			}
		}
		if left := busy(t, e, request("eve")).Left; left <= 0 || left > 20*time.Millisecond {
			t.Errorf("Left = %v after a split vote, want at most 20ms", left)
		}
		time.Sleep(2 * time.Second)
		if left := busy(t, e, request("eve")).Left; left != lease-2*time.Second {
			t.Errorf("Left = %v after the holders died, want the %v left of their leases", left, lease-2*time.Second)
		}
	})
	bubble(t, "a refusal says when a majority could be free", func(t *testing.T) {
		nodes := memoryNodes(5)
		e := newQuorum(t, nodes, quorum.Durable())
		for i := range 4 {
			r := request("ann")
			r.Lease = time.Duration(i+1) * 3 * time.Second
			if _, err := nodes[i].Acquire(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		b := busy(t, e, request("eve"))
		// Left depends on whether all nodes have answered before the refusal.
		if b.Holder != "ann:1" || b.Left != 3*time.Second && b.Left != 6*time.Second {
			t.Errorf("refusal = %+v, want holder ann:1 and 3s or 6s left", b)
		}
	})
}

// TestWaking checks how many nodes must notify a waiter.
func TestWaking(t *testing.T) {
	bubble(t, "the release of a minority wakes no waiter", func(t *testing.T) {
		nodes := memoryNodes(5)
		e, r := newQuorum(t, nodes, quorum.Durable()), request("ann")
		wake, stop := e.Capabilities().Notifier.Notify(request("bob"))
		defer stop()
		synctest.Wait()
		<-wake // the subscription has begun
		for i, n := range nodes {
			if _, err := n.Acquire(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Release(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-wake:
				if i != 2 {
					t.Errorf("the waiter was notified after %d of 5 nodes had notified, want only after 3", i+1)
				}
			default:
				if i == 2 {
					t.Error("the waiter was not notified after 3 of 5 nodes had notified")
				}
			}
		}
	})
}

// acquireAndRelease retries like a client until the lock is granted, releases it, and
// returns the number of tries.
func acquireAndRelease(t *testing.T, e engine.Engine, i, turn int, holders *atomic.Int32) (tries int32) {
	r := engine.Request{Key: "k", Holder: fmt.Sprintf("p%d:%d", i, turn), Attempt: fmt.Sprintf("p%d:%d", i, turn), Lease: 30 * time.Second}
	for {
		_, err := e.Acquire(context.Background(), r)
		tries++
		var busy *engine.BusyError
		switch {
		case err == nil:
			if n := holders.Add(1); n != 1 {
				t.Errorf("%d holders at once, want 1", n)
			}
			time.Sleep(time.Millisecond)
			holders.Add(-1)
			released(t, e, r)
			return tries
		case !errors.As(err, &busy):
			t.Errorf("acquire: %v", err)
			return tries
		}
		wait(e, r, min(busy.Left+time.Millisecond, time.Second))
	}
}

// wait returns after a notification or after d.
func wait(e engine.Engine, r engine.Request, d time.Duration) {
	wake, stop := e.Capabilities().Notifier.Notify(r)
	defer stop()
	select {
	case <-wake: // the subscription has begun
	case <-time.After(d):
		return
	}
	select {
	case <-wake:
	case <-time.After(d*3/4 + rand.N(d/4)):
	}
}

// delayed is an engine behind a network with random delays.
type delayed struct{ engine.Engine }

func (d delayed) networkDelay() { time.Sleep(200*time.Microsecond + rand.N(300*time.Microsecond)) }

func (d delayed) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	d.networkDelay()
	defer d.networkDelay()
	return d.Engine.Acquire(ctx, r)
}

func (d delayed) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	d.networkDelay()
	defer d.networkDelay()
	return d.Engine.Release(ctx, r)
}
