package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/postgres"
)

// Engines with different settings share locks.
func TestEnginesExcludeEachOther(t *testing.T) {
	t.Parallel()
	ctx, url := context.Background(), sharedDatabase(t).URL()
	engines := []*postgres.Engine{
		open(t, url), open(t, url+"&listen=off"), open(t, url+"&default_transaction_isolation=serializable"),
		open(t, url+"&default_query_exec_mode=simple_protocol"),
	}
	const each, turns = 3, 15
	var (
		all          sync.WaitGroup
		inside       atomic.Int32
		last, counts atomic.Uint64
	)
	for i, e := range engines {
		for j := range each {
			all.Go(func() {
				for turn := range turns {
					r := request(t, fmt.Sprintf("%d:%d", i, j), fmt.Sprint(turn))
					r.Key += "shared"
					g, err := e.Acquire(ctx, r)
					for busy := (*engine.BusyError)(nil); errors.As(err, &busy); g, err = e.Acquire(ctx, r) {
						time.Sleep(time.Millisecond)
					}
					if err != nil {
						t.Errorf("acquire: %v", err)
						return
					}
					if inside.Add(1) != 1 {
						t.Error("two holders are inside at once")
					}
					if before := last.Swap(g.Fence); g.Fence <= before {
						t.Errorf("the fence went from %d to %d", before, g.Fence)
					}
					counts.Add(1)
					inside.Add(-1)
					if res, err := e.Release(ctx, r); err != nil || res.Outcome != engine.Released {
						t.Errorf("release: %+v, error %v; want %v", res, err, engine.Released)
					}
				}
			})
		}
	}
	all.Wait()
	if n := counts.Load(); n != uint64(len(engines)*each*turns) {
		t.Errorf("%d turns were taken, want %d", n, len(engines)*each*turns)
	}
	for _, e := range engines {
		everyOperation(t, e)
	}
}
