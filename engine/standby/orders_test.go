package standby_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/standby"
	"github.com/interlock-go/interlock/guard"
)

// An order counts how often its work began and ended.
type order struct{ begun, done atomic.Int32 }

// orderStorm lets three processes submit the same orders repeatedly while an operator switches
// back and forth. No work may begin twice: outcomes of one side are found on the other,
// and interrupted work stays unknown.
func orderStorm(w *world, random *rand.Rand) {
	const (
		switches = 8
		orders   = 120
	)
	book := make([]order, orders)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var processes []*process
	for i := range 3 {
		p := w.start()
		processes = append(processes, p)
		g := newOrderGuard(w, p)
		for j := range 4 {
			all.Go(func() { submit(ctx, g, book, rand.New(rand.NewPCG(uint64(i), uint64(j)))) })
		}
	}
	for range switches {
		pause(random, freeze/2, 3*freeze)
		w.switchTo(standby.Primary + standby.Standby - w.operator.State().Side)
	}
	time.Sleep(2 * freeze)
	stop()
	all.Wait()
	done, interrupted := 0, 0
	for i := range book {
		o := &book[i]
		if n := o.begun.Load(); n > 1 {
			w.Errorf("order %d began %d times, want at most once", i, n)
		}
		done += int(o.done.Load())
		interrupted += int(o.begun.Load() - o.done.Load())
	}
	var unverified uint64
	for _, p := range processes {
		unverified += p.Stats().Unverified
	}
	if done < orders/2 || unverified > 0 {
		w.Errorf("%d of %d orders were done, and %d claims were unverified; want at least half, and none", done, orders, unverified)
	}
	if w.Failed() {
		return
	}
	fmt.Printf("standby: %d switches, %d of %d orders done, each once; %d interrupted and not begun again\n", switches, done, orders, interrupted)
}

// newOrderGuard returns a guard that runs no order twice, even if its outcome is unknown.
func newOrderGuard(w *world, p *process) *guard.Guard[string] {
	c := interlock.New(p.Engine, interlock.Watchdog(longest))
	g, err := guard.New[string](c, guard.Policy{Name: "order", Lease: longest, Retain: time.Hour, OnUnknown: guard.Hold})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = g.Close(context.Background())
		_ = c.Close(context.Background())
	})
	return g
}

// submit places new and repeated orders.
func submit(ctx context.Context, g *guard.Guard[string], book []order, random *rand.Rand) {
	for ctx.Err() == nil {
		n := random.IntN(len(book))
		o := &book[n]
		_, _ = g.Do(ctx, guard.Of("ann", fmt.Sprint(n)), func(ctx context.Context) (string, error) {
			o.begun.Add(1)
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(time.Duration(random.Int64N(int64(2 * time.Second)))):
			}
			o.done.Add(1)
			return "paid", nil
		})
		time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
	}
}
