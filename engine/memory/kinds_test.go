package memory_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

func requestAs(k engine.Kind, holder string) engine.Request {
	r := request("a", holder)
	r.Kind, r.Limit = k, 3
	return r
}

func granted(t testing.TB, e *memory.Engine, r engine.Request) {
	t.Helper()
	if _, err := e.Acquire(t.Context(), r); err != nil {
		t.Fatalf("acquire %s for %s: %v", r.Kind, r.Holder, err)
	}
}

// enqueue requests a held lock with a QueueLease, so that the request is queued.
func enqueue(t testing.TB, e *memory.Engine, r engine.Request) engine.Request {
	t.Helper()
	r.QueueLease = lease
	var busy *engine.BusyError
	if _, err := e.Acquire(t.Context(), r); !errors.As(err, &busy) {
		t.Fatalf("acquire %s for %s: got %v, want a refusal", r.Kind, r.Holder, err)
	}
	return r
}

func wantFull(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), ": ") {
		t.Errorf("err = %v, want engine.ErrFull with advice", err)
	}
}

func wantLen(t testing.TB, e *memory.Engine, want int) {
	t.Helper()
	if e.Len() != want {
		t.Errorf("the engine keeps %d entries, want %d", e.Len(), want)
	}
}

var lockKinds = []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit}

func TestEveryKindIsBounded(t *testing.T) {
	t.Run("holds", func(t *testing.T) {
		for _, k := range []engine.Kind{engine.Read, engine.Permit} {
			e := memory.New(memory.MaxKeys(2))
			granted(t, e, requestAs(k, "ann"))
			granted(t, e, requestAs(k, "bob"))
			_, err := e.Acquire(t.Context(), requestAs(k, "eve"))
			wantFull(t, err)
			wantLen(t, e, 2)
		}
	})
	t.Run("queue positions", func(t *testing.T) {
		for _, k := range []engine.Kind{engine.Fair, engine.Write} {
			e := memory.New(memory.MaxKeys(2))
			granted(t, e, requestAs(k, "ann"))
			bob := enqueue(t, e, requestAs(k, "bob"))
			eve := bob
			eve.Holder = "eve"
			_, err := e.Acquire(t.Context(), eve)
			wantFull(t, err)
			enqueue(t, e, bob)
			if _, err := e.Abandon(t.Context(), bob); err != nil {
				t.Errorf("a waiter cannot give up in a full engine: %v", err)
			}
			wantLen(t, e, 2)
		}
	})
	t.Run("latches and their counts", func(t *testing.T) {
		e := memory.New(memory.MaxKeys(2))
		for _, attempt := range []string{"1", "1", "2"} {
			r := requestAs(engine.Latch, "ann")
			r.Attempt = attempt
			_, err := e.CountDown(t.Context(), r)
			if attempt == "2" {
				wantFull(t, err)
			} else if err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("clients", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, n := memory.New(), 0
			var err error
			for ; err == nil && n < 1_000_000; n++ {
				err = e.Register(t.Context(), engine.Member{ID: strconv.Itoa(n)}, lease)
			}
			wantFull(t, err)
			time.Sleep(lease)
			if err := e.Register(t.Context(), engine.Member{ID: strconv.Itoa(n - 1)}, lease); err != nil {
				t.Errorf("register after the other clients have expired: %v", err)
			}
			wantLen(t, e, 0)
		})
	})
}

func TestReleaseLeavesNoEntries(t *testing.T) {
	e := memory.New()
	for _, k := range lockKinds {
		first, second := requestAs(k, "ann"), requestAs(k, "ann")
		second.Attempt = "2"
		granted(t, e, first)
		granted(t, e, second)
		if k != engine.Exclusive && k != engine.Permit && k != engine.Read {
			bob := enqueue(t, e, requestAs(k, "bob"))
			e.Release(t.Context(), bob)
		}
		e.Release(t.Context(), first)
		e.Release(t.Context(), second)
		wantLen(t, e, 0)
	}
}

func TestExpiryLeavesNoEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		for _, k := range lockKinds {
			r := requestAs(k, "ann")
			r.Key = k.String()
			granted(t, e, r)
			if k == engine.Fair || k == engine.Write {
				r.Holder = "bob"
				enqueue(t, e, r)
			}
			if _, err := e.ForceRelease(t.Context(), r.Key); err != nil {
				t.Fatal(err)
			}
			r.Holder = "eve"
			e.Abandon(t.Context(), r)
		}
		for i, limit := range []int{1, 2} {
			r := requestAs(engine.Latch, "ann")
			r.Key, r.Limit = fmt.Sprint("latch", i), limit
			if _, err := e.CountDown(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		sweepAllShards(e)
		wantLen(t, e, 0)
	})
}

// sweepAllShards uses every shard so often that all expired entries are swept.
func sweepAllShards(e *memory.Engine) {
	for i := range 10_000 {
		e.Evict(strconv.Itoa(i))
	}
}

// TestSweepFindsExpiredHolders compares the number of permits and queue positions with
// maps, after they were acquired, renewed and given up in random order.
func TestSweepFindsExpiredHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, random := memory.New(), rand.New(rand.NewPCG(3, 4))
		permits, positions := make(map[string]time.Time), make(map[string]position)
		hold := requestAs(engine.Fair, "ann")
		hold.Lease = 1000 * time.Hour
		granted(t, e, hold)
		for range 30 {
			for range 500 {
				span := time.Duration(1 + random.IntN(int(time.Minute)))
				name := strconv.Itoa(random.IntN(300))
				if random.IntN(2) == 0 {
					stepPermit(e, random.IntN(3), name, span, permits)
				} else {
					stepPosition(e, random.IntN(3), name, span, positions)
				}
			}
			time.Sleep(time.Duration(random.IntN(int(10 * time.Second))))
			sweepAllShards(e)
			e.Inspect(t.Context(), "a") // queues are checked on access
			past := func(_ string, end time.Time) bool { return !time.Now().Before(end) }
			maps.DeleteFunc(permits, past)
			maps.DeleteFunc(positions, func(name string, p position) bool { return past(name, p.forgotten) })
			if want := 1 + len(permits) + len(positions); e.Len() != want {
				t.Fatalf("the engine keeps %d entries, want %d", e.Len(), want)
			}
		}
	})
}

// stepPermit acquires, renews or releases a permit, and records its end in ends.
func stepPermit(e *memory.Engine, what int, name string, span time.Duration, ends map[string]time.Time) {
	ctx, r, end := context.Background(), requestAs(engine.Permit, name), time.Now().Add(span)
	r.Key, r.Lease, r.Limit = "permits", span, 1_000_000
	switch what {
	case 0:
		if _, err := e.Acquire(ctx, r); err == nil && end.After(ends[name]) {
			ends[name] = end
		}
	case 1:
		if e.Renew(ctx, []engine.Request{r})[0] == nil && end.After(ends[name]) {
			ends[name] = end
		}
	case 2:
		e.Release(ctx, r)
		delete(ends, name)
	}
}

// A position expires after one QueueLease, and is forgotten after another.
type position struct{ end, forgotten time.Time }

// stepPosition queues, extends or leaves a position, and records its end in positions.
func stepPosition(e *memory.Engine, what int, name string, span time.Duration, positions map[string]position) {
	ctx, r, end := context.Background(), requestAs(engine.Fair, name), time.Now().Add(span)
	r.QueueLease = span
	if what == 2 {
		e.Release(ctx, r)
		delete(positions, name)
	} else if e.Acquire(ctx, r); end.After(positions[name].end) {
		positions[name] = position{end, end.Add(span)}
	}
}

func TestAClockStepExpiresEveryKind(t *testing.T) {
	for _, k := range lockKinds {
		synctest.Test(t, func(t *testing.T) {
			e, r := memory.New(), requestAs(k, "ann")
			r.Limit = 1
			granted(t, e, r)
			r.Holder = "bob"
			if k != engine.Read {
				enqueue(t, e, r)
			}
			e.Step(lease)
			r.Holder = "eve" // both ann's hold and bob's position have expired
			granted(t, e, r)
		})
	}
}

func TestEveryKindIsEvicted(t *testing.T) {
	for _, k := range lockKinds {
		e := memory.New()
		granted(t, e, requestAs(k, "ann"))
		e.Evict("a")
		wantLen(t, e, 0)
		granted(t, e, requestAs(engine.Exclusive, "bob"))
	}
	e := memory.New()
	e.CountDown(t.Context(), requestAs(engine.Latch, "ann"))
	e.Evict("a")
	wantLen(t, e, 0)
}

func TestARevocationLastsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r := memory.New(), request("a", "ann")
		acquire(t, e, "a", "ann")
		if _, err := e.ForceRelease(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if err := e.Renew(t.Context(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrRevoked) {
			t.Errorf("renewal just before a minute has passed: %v, want %v", err, engine.ErrRevoked)
		}
		time.Sleep(time.Nanosecond)
		if err := e.Renew(t.Context(), []engine.Request{r})[0]; errors.Is(err, engine.ErrRevoked) {
			t.Errorf("renewal after a minute: %v, want %v", err, engine.ErrNotHolder)
		}
	})
}

func TestARevocationOutlastsALongLease(t *testing.T) {
	e, r := memory.New(), request("a", "ann")
	r.Lease = math.MaxInt64
	granted(t, e, r)
	if _, err := e.ForceRelease(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	e.Step(1000 * time.Hour)
	if err := e.Renew(t.Context(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrRevoked) {
		t.Errorf("renewal: %v, want %v", err, engine.ErrRevoked)
	}
}

func TestAcquireRefusesALatch(t *testing.T) {
	_, err := memory.New().Acquire(t.Context(), requestAs(engine.Latch, "ann"))
	if err == nil || !strings.Contains(err.Error(), "count down") {
		t.Errorf("Acquire: err = %v, want the advice to count down instead", err)
	}
}

func TestListRefusesAnUnknownCursor(t *testing.T) {
	for _, cursor := range []string{"x", "-1", "64"} {
		if _, _, err := memory.New().List(t.Context(), "*", cursor); err == nil {
			t.Errorf("List accepts the cursor %q, want an error", cursor)
		}
	}
}
