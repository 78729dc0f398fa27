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
		bubble(t, fmt.Sprintf("eight who want one lock of %d nodes at once all get it soon", nodes), func(t *testing.T) {
			const many, turns = 8, 25
			far := make([]engine.Engine, nodes)
			for i := range far {
				far[i] = distant{memory.New()}
			}
			var all sync.WaitGroup
			var asked, inside atomic.Int32
			start := time.Now()
			for i := range many {
				e := join(t, far, quorum.Durable())
				all.Go(func() {
					for turn := range turns {
						asked.Add(insist(t, e, i, turn, &inside))
					}
				})
			}
			all.Wait()
			took := time.Since(start)
			t.Logf("%d grants in %v, %.1f asked for each, %v each", many*turns, took, float64(asked.Load())/(many*turns), took/(many*turns))
			if most := many * turns * 20 * time.Millisecond; took > most {
				t.Errorf("it took %v, want less than %v", took, most)
			}
		})
	}
}

// TestSplitVote checks the refusal after a split vote.
func TestSplitVote(t *testing.T) {
	bubble(t, "a split vote asks for a quick retry, and for a later one after a death", func(t *testing.T) {
		nodes := memories(5)
		e := join(t, nodes, quorum.Durable())
		for i, who := range []string{"ann", "ann", "bob", "bob"} {
			if _, err := nodes[i].Acquire(context.Background(), ask(who)); err != nil {
				t.Fatal(err)
			}
		}
		if left := busy(t, e, ask("eve")).Left; left <= 0 || left > 20*time.Millisecond {
			t.Errorf("it is to come back in %v, want soon", left)
		}
		time.Sleep(2 * time.Second)
		if left := busy(t, e, ask("eve")).Left; left != lease-2*time.Second {
			t.Errorf("it is to come back in %v, want when their leases end", left)
		}
	})
	bubble(t, "a refusal says when a majority could be free", func(t *testing.T) {
		nodes := memories(5)
		e := join(t, nodes, quorum.Durable())
		for i := range 4 {
			r := ask("ann")
			r.Lease = time.Duration(i+1) * 3 * time.Second
			if _, err := nodes[i].Acquire(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		b := busy(t, e, ask("eve"))
		if b.Holder != "ann:1" || b.Left != 3*time.Second && b.Left != 6*time.Second { // if some have not answered yet, or all have
			t.Errorf("got %+v", b)
		}
	})
}

// TestWaking checks which waiters are notified, and when.
func TestWaking(t *testing.T) {
	bubble(t, "the release of a minority wakes no waiter", func(t *testing.T) {
		nodes := memories(5)
		e, r := join(t, nodes, quorum.Durable()), ask("ann")
		wake, stop := e.Capabilities().Notifier.Notify(ask("bob"))
		defer stop()
		synctest.Wait()
		<-wake // it has begun to listen
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
					t.Errorf("it was woken by %d nodes", i+1)
				}
			default:
				if i == 2 {
					t.Errorf("it was not woken by %d nodes", i+1)
				}
			}
		}
	})
}

// insist retries like a client until the lock is granted, and returns the number of
// tries.
func insist(t *testing.T, e engine.Engine, i, turn int, inside *atomic.Int32) (asked int32) {
	r := engine.Request{Key: "k", Holder: fmt.Sprintf("p%d:%d", i, turn), Attempt: fmt.Sprintf("p%d:%d", i, turn), Lease: 30 * time.Second}
	for {
		_, err := e.Acquire(context.Background(), r)
		asked++
		var busy *engine.BusyError
		switch {
		case err == nil:
			if inside.Add(1) != 1 {
				t.Error("two are inside")
			}
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			released(t, e, r)
			return asked
		case !errors.As(err, &busy):
			t.Errorf("acquire: %v", err)
			return asked
		}
		wait(e, r, min(busy.Left+time.Millisecond, time.Second))
	}
}

// wait returns after a notification or after d.
func wait(e engine.Engine, r engine.Request, d time.Duration) {
	wake, stop := e.Capabilities().Notifier.Notify(r)
	defer stop()
	select {
	case <-wake: // it has begun to listen
	case <-time.After(d):
		return
	}
	select {
	case <-wake:
	case <-time.After(d*3/4 + rand.N(d/4)):
	}
}

// distant is an engine at the other end of a network.
type distant struct{ engine.Engine }

func (d distant) trip() { time.Sleep(200*time.Microsecond + rand.N(300*time.Microsecond)) }

func (d distant) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	d.trip()
	defer d.trip()
	return d.Engine.Acquire(ctx, r)
}

func (d distant) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	d.trip()
	defer d.trip()
	return d.Engine.Release(ctx, r)
}
