package zookeeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest/history"
	"github.com/interlock-go/interlock/engine/zookeeper"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
)

// TestContentionWithFaults lets the clients of three engines compete for a lock, while
// their connections are cut and replies are lost. At most one holds it at a time, and
// fences rise.
func TestContentionWithFaults(t *testing.T) {
	t.Parallel()
	for _, fair := range []bool{false, true} {
		t.Run(fmt.Sprint("fair ", fair), func(t *testing.T) {
			t.Parallel()
			contend(t, fair)
		})
	}
}

const contention = 10 * time.Second

func contend(t *testing.T, fair bool) {
	ctx, cancel := context.WithTimeout(context.Background(), contention)
	defer cancel()
	var (
		log    history.Log
		all    sync.WaitGroup
		grants atomic.Int64
	)
	for n := range 3 {
		e, p := proxied(t, server(t), zookeeper.Session(2*time.Second), zookeeper.Timeout(time.Second))
		client := interlock.New(e)
		t.Cleanup(func() { _ = client.Close(context.Background()) })
		all.Go(func() { disturb(ctx, p, n) })
		for actor := range 3 {
			all.Go(func() {
				name := fmt.Sprint("p", n, ".", actor)
				for ctx.Err() == nil {
					if enter(ctx, client, &log, history.Event{Key: key(t), Actor: name, Process: fmt.Sprint("p", n)}, fair) {
						grants.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	report := history.Check(log.Events())
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	t.Logf("%d grants", grants.Load())
	if grants.Load() < 20 {
		t.Errorf("%d grants in %v are too few", grants.Load(), contention)
	}
}

// disturb cuts connections and loses replies until ctx ends.
func disturb(ctx context.Context, p *faultnet.Proxy, seed int) {
	random := rand.New(rand.NewPCG(uint64(seed), 17))
	for ctx.Err() == nil {
		pause(ctx, time.Duration(random.IntN(2000))*time.Millisecond)
		switch random.IntN(3) {
		case 0:
			p.Reset()
		case 1:
			p.CutAfterRequest()
		default:
			release := p.Hold(faultnet.Direction(random.IntN(2)))
			pause(ctx, time.Duration(random.IntN(400))*time.Millisecond)
			release()
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// enter holds the lock for a moment, and notes that in the log. It reports whether the
// lock was granted.
func enter(ctx context.Context, c *interlock.Client, log *history.Log, e history.Event, fair bool) bool {
	opts := []interlock.Option{interlock.Lease(3 * time.Second), interlock.Fenced()}
	if fair {
		opts = append(opts, interlock.Fair())
	}
	e.Kind = history.Ask
	log.Add(e)
	held, hold, err := c.Mutex(e.Key, opts...).Lock(ctx)
	if err != nil {
		e.Kind = history.Stop
		log.Add(e)
		pause(ctx, 10*time.Millisecond)
		return false
	}
	e.Kind, e.Fence = history.Enter, hold.Fence()
	log.Add(e)
	e.Kind, e.Fence = history.Leave, 0
	pause(held, 2*time.Millisecond)
	if held.Err() != nil {
		e.Kind = history.Lost
	}
	log.Add(e)
	_ = hold.Unlock()
	return true
}
