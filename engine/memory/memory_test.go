package memory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

const lease = 3 * time.Second

func request(key, holder string) engine.Request {
	return engine.Request{Key: key, Holder: holder, Attempt: "1", Lease: lease}
}

func acquire(t testing.TB, e *memory.Engine, key, holder string) engine.Grant {
	t.Helper()
	g, err := e.Acquire(context.Background(), request(key, holder))
	if err != nil {
		t.Fatalf("acquire %q for %s: %v", key, holder, err)
	}
	return g
}

// fill acquires n locks for an hour. It does not call t.Helper, which is slower than
// the engine.
func fill(t *testing.T, e *memory.Engine, prefix string, n int) {
	r := request("", "ann")
	r.Lease = time.Hour
	for i := range n {
		r.Key = prefix + strconv.Itoa(i)
		if _, err := e.Acquire(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Run("a million expired keys are swept while other keys are used", func(t *testing.T) {
		million := 1_000_000
		if testing.Short() {
			million /= 20
		}
		e := memory.New()
		fill(t, e, "old:", million)
		if e.Len() != million {
			t.Fatalf("the engine keeps %d locks, want %d", e.Len(), million)
		}
		e.Step(time.Hour)
		for used := range 10 {
			before := e.Len()
			fill(t, e, fmt.Sprint("new:", used, ":"), million/20)
			if after := e.Len(); before > million/2 && after >= before {
				t.Fatalf("after %d operations the engine keeps %d entries instead of %d, want fewer", million/20, after, before)
			}
		}
		// Only new keys are left, and a few old ones in shards that were used less.
		if e.Len() > million/2+million/100 {
			t.Errorf("the engine keeps %d entries, want about %d", e.Len(), million/2)
		}
	})

	t.Run("a full engine refuses new locks and keeps serving holders", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New(memory.MaxKeys(2))
			acquire(t, e, "a", "ann")
			acquire(t, e, "b", "ann")
			_, err := e.Acquire(t.Context(), request("c", "ann"))
			if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), "memory.MaxKeys") {
				t.Errorf("Acquire: err = %v, want engine.ErrFull with advice", err)
			}
			acquire(t, e, "a", "ann")
			if errs := e.Renew(t.Context(), []engine.Request{request("a", "ann")}); errs[0] != nil {
				t.Errorf("renewal: %v", errs[0])
			}
		})
	})

	t.Run("a full engine has capacity again when leases in other shards have expired", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const n = 100 // more than there are shards
			e := memory.New(memory.MaxKeys(n))
			for i := range n {
				acquire(t, e, fmt.Sprint("old:", i), "ann")
			}
			time.Sleep(lease)
			for i := range n {
				acquire(t, e, fmt.Sprint("new:", i), "bob")
			}
		})
	})

	t.Run("in a full engine a held lock can be abandoned, and an unknown attempt cannot", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New(memory.MaxKeys(1))
			acquire(t, e, "a", "ann")
			if _, err := e.Abandon(t.Context(), request("a", "bob")); !errors.Is(err, engine.ErrFull) {
				t.Errorf("abandoning an unknown attempt: got %v, want engine.ErrFull", err)
			}
			p, err := e.Abandon(t.Context(), request("a", "ann"))
			if err != nil || p.Outcome != engine.Released {
				t.Errorf("abandoning a held lock: got %v, %v; want it released", p.Outcome, err)
			}
			if e.Len() != 1 {
				t.Errorf("the engine keeps %d entries, want 1", e.Len())
			}
			_, err = e.Acquire(t.Context(), request("a", "ann"))
			if !errors.Is(err, engine.ErrAbandoned) {
				t.Errorf("the abandoned attempt: got %v, want engine.ErrAbandoned", err)
			}
		})
	})
}

// TestSweepFindsExpiredLocks compares the engine with a map after locks with many
// leases were acquired, renewed and released in random order.
func TestSweepFindsExpiredLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, ends := memory.New(), make(map[string]time.Time)
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			for range 2000 {
				r := request("lock:"+strconv.Itoa(random.IntN(5000)), "ann")
				r.Lease = time.Duration(1 + random.IntN(int(time.Minute)))
				switch end := time.Now().Add(r.Lease); random.IntN(3) {
				case 0:
					acquire(t, e, r.Key, "ann")
					if end = time.Now().Add(lease); end.After(ends[r.Key]) {
						ends[r.Key] = end
					}
				case 1:
					if e.Renew(t.Context(), []engine.Request{r})[0] == nil && end.After(ends[r.Key]) {
						ends[r.Key] = end
					}
				case 2:
					e.Release(t.Context(), r)
					delete(ends, r.Key)
				}
			}
			time.Sleep(time.Duration(random.IntN(int(lease))))
			for i := range 10_000 { // enough to visit every shard many times
				e.Evict(strconv.Itoa(i))
			}
			maps.DeleteFunc(ends, func(_ string, end time.Time) bool { return !time.Now().Before(end) })
			if e.Len() != len(ends) {
				t.Fatalf("the engine keeps %d locks, want %d", e.Len(), len(ends))
			}
		}
	})
}

func TestClock(t *testing.T) {
	t.Run("a clock that steps forward expires leases early", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New()
			acquire(t, e, "a", "ann")
			e.Step(lease)
			acquire(t, e, "a", "bob")
		})
	})
	t.Run("fences rise after the clock steps back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New()
			first := acquire(t, e, "a", "ann")
			e.Step(-time.Hour)
			e.Evict("a")
			if second := acquire(t, e, "a", "bob"); second.Fence <= first.Fence {
				t.Errorf("the fence after %d is %d, want a higher one", first.Fence, second.Fence)
			}
		})
	})
	t.Run("an engine made outside a synctest bubble works in it", func(t *testing.T) {
		e := memory.New()
		acquire(t, e, "a", "ann")
		synctest.Test(t, func(t *testing.T) {
			acquire(t, e, "b", "ann")
			time.Sleep(lease)
			acquire(t, e, "b", "bob")
		})
	})
}

func TestEvict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		acquire(t, e, "a", "ann")
		e.Evict("a")
		if e.Len() != 0 {
			t.Errorf("the engine keeps %d entries, want none", e.Len())
		}
		acquire(t, e, "a", "bob")
	})
}

func TestAnUncontendedLockCostsTwoAllocationsAtMost(t *testing.T) {
	e, r := memory.New(), request("a", "ann")
	n := testing.AllocsPerRun(1000, func() {
		e.Acquire(context.Background(), r)
		e.Release(context.Background(), r)
	})
	if n > 2 {
		t.Errorf("an acquire and release make %v allocations, want 2 at most", n)
	}
}

func BenchmarkUncontended(b *testing.B) {
	e, r := memory.New(), request("a", "ann")
	b.ReportAllocs()
	for b.Loop() {
		e.Acquire(b.Context(), r)
		e.Release(b.Context(), r)
	}
}

func BenchmarkManyKeys(b *testing.B) {
	e := memory.New()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			r := request(keys[i%len(keys)], "ann")
			e.Acquire(context.Background(), r)
			e.Release(context.Background(), r)
		}
	})
}

var keys = func() (keys [4096]string) {
	for i := range keys {
		keys[i] = fmt.Sprint("key:", i)
	}
	return keys
}()

func TestListeners(t *testing.T) {
	t.Run("a release counts the listeners of its lock only", func(t *testing.T) {
		e := memory.New()
		for i := range 1000 { // so that some are in the shard of the lock
			_, stop := e.Capabilities().Notifier.Notify(request("other:"+strconv.Itoa(i), "bob"))
			defer stop()
		}
		for want := range 3 {
			acquire(t, e, "k", "ann")
			p, err := e.Release(context.Background(), request("k", "ann"))
			if err != nil || p.Listeners != want {
				t.Errorf("the release reports %d listeners, error %v; want %d", p.Listeners, err, want)
			}
			_, stop := e.Capabilities().Notifier.Notify(request("k", "bob"))
			defer stop()
		}
	})
}
