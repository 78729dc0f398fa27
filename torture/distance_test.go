package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/redisengine"
	"github.com/interlock-go/interlock/engine/redisengine/goredis"
	"github.com/interlock-go/interlock/internal/testing/faultnet"
	"github.com/interlock-go/interlock/internal/testing/redistest"
)

// TestDistance has two processes compete for one plain lock. The near process is beside the
// server; messages of the distant one take 3ms. Up to three holders may refuse the distant
// process before it joins the queue. While it is in the queue, the near process may get at
// most 18 grants: the rest of its present turn, and one more turn of nine.
func TestDistance(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, string) engine.Engine{
		"rueidis": func(t *testing.T, addr string) engine.Engine {
			e, err := redisengine.Open(t.Context(), "redis://"+addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close() })
			return e
		},
		"go-redis": func(t *testing.T, addr string) engine.Engine {
			pool := redis.NewClient(&redis.Options{Addr: addr})
			e := goredis.New(pool)
			t.Cleanup(func() { _ = e.Close(); _ = pool.Close() })
			return e
		},
	} {
		for _, callers := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s: a distant process is not starved by %d callers of a near one", name, callers), func(t *testing.T) {
				server := redistest.Start(t)
				proxy := faultnet.New(t, server.Addr())
				proxy.Delay(faultnet.Requests, 3*time.Millisecond)
				proxy.Delay(faultnet.Replies, 3*time.Millisecond)
				compete(t, connect(t, server.Addr()), connect(t, proxy.Addr()), callers)
			})
		}
	}
}

// compete has the distant process acquire the lock again and again. It counts the holders
// and the near grants that the distant process waits for before each grant.
func compete(t *testing.T, near, far engine.Engine, callers int) {
	const grants = 200
	var nearGrants atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var nearby sync.WaitGroup
	defer nearby.Wait()
	defer cancel()
	nearLock := interlock.New(near).Mutex("distance")
	for range callers {
		nearby.Go(func() {
			for ctx.Err() == nil {
				_ = nearLock.Do(ctx, func(context.Context) error { nearGrants.Add(1); return nil })
			}
		})
	}
	log := &refusals{Engine: far, nearGrants: &nearGrants}
	lock := interlock.New(log).Mutex("distance")
	start, waited := time.Now(), make([]time.Duration, 0, grants)
	mostHolders, mostPassed := 0, int64(0)
	for range grants {
		log.holders, log.queuedAt = nil, -1
		asked := time.Now()
		_, hold, err := lock.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		waited = append(waited, time.Since(asked))
		mostHolders = max(mostHolders, len(log.holders))
		if log.queuedAt >= 0 {
			mostPassed = max(mostPassed, nearGrants.Load()-log.queuedAt)
		}
		_ = hold.Unlock()
	}
	took := time.Since(start)
	slices.Sort(waited)
	fmt.Printf("distance: %d distant grants, %d near ones in %v; wait p50 %v, max %v; before it queues at most %d holders, then at most %d near grants\n",
		grants, nearGrants.Load(), took.Round(time.Millisecond), waited[grants/2], waited[grants-1], mostHolders, mostPassed)
	if mostHolders > 3 {
		t.Errorf("the distant process saw %d holders before it queued, want at most 3", mostHolders)
	}
	if mostPassed > 18 {
		t.Errorf("the near process got %d grants while the distant one was in the queue, want at most 18", mostPassed)
	}
}

// A refusals records the refusals of an engine's only caller.
type refusals struct {
	engine.Engine
	nearGrants *atomic.Int64
	holders    []string // seen by requests that did not queue, without repeats in a row
	queuedAt   int64    // the near grants when the caller learned that it is queued; -1 until then
}

func (r *refusals) Acquire(ctx context.Context, req engine.Request) (engine.Grant, error) {
	g, err := r.Engine.Acquire(ctx, req)
	var busy *engine.BusyError
	switch {
	case !errors.As(err, &busy):
	case req.QueueLease == 0:
		if n := len(r.holders); n == 0 || r.holders[n-1] != busy.Holder {
			r.holders = append(r.holders, busy.Holder)
		}
	case r.queuedAt < 0:
		r.queuedAt = r.nearGrants.Load()
	}
	return g, err
}
