package torture

import (
	"context"
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
// server; messages of the distant one take 3ms. In nine of ten waits of the distant process,
// the near one may get at most 20 grants.
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

// compete counts the grants of the near process between a refusal of the distant process
// and its next grant.
func compete(t *testing.T, near, far engine.Engine, callers int) {
	const grants = 200
	var nearGrants, refusedAt atomic.Int64
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
	lock := interlock.New(far, interlock.WithTrace(&interlock.Trace{
		Waiting: func(interlock.Waiting) { refusedAt.Store(nearGrants.Load()) },
	})).Mutex("distance")
	start, waited, passed := time.Now(), make([]time.Duration, 0, grants), make([]int64, 0, grants)
	for range grants {
		asked := time.Now()
		refusedAt.Store(-1)
		_, hold, err := lock.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if at := refusedAt.Load(); at < 0 { // granted when the request arrived
			passed = append(passed, 0)
		} else {
			passed = append(passed, nearGrants.Load()-at)
		}
		waited = append(waited, time.Since(asked))
		_ = hold.Unlock()
	}
	took := time.Since(start)
	slices.Sort(waited)
	slices.Sort(passed)
	fmt.Printf("distance: %d distant grants, %d near ones in %v; wait p50 %v, max %v; passed by p50 %d, p90 %d, max %d\n", grants, nearGrants.Load(), took.Round(time.Millisecond),
		waited[grants/2], waited[grants-1], passed[grants/2], passed[grants*9/10], passed[grants-1])
	if most := passed[grants*9/10]; most > 20 {
		t.Errorf("before one in ten distant grants, the near process got %d or more, want at most 20", most)
	}
}
