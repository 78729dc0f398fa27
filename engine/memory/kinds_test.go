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

// standsInLine queues r.
func standsInLine(t testing.TB, e *memory.Engine, r engine.Request) engine.Request {
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
		t.Errorf("got %v, want engine.ErrFull and what to do about it", err)
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
	t.Run("places in line", func(t *testing.T) {
		for _, k := range []engine.Kind{engine.Fair, engine.Write} {
			e := memory.New(memory.MaxKeys(2))
			granted(t, e, requestAs(k, "ann"))
			bob := standsInLine(t, e, requestAs(k, "bob"))
			eve := bob
			eve.Holder = "eve"
			_, err := e.Acquire(t.Context(), eve)
			wantFull(t, err)
			standsInLine(t, e, bob)
			if _, err := e.Abandon(t.Context(), bob); err != nil {
				t.Errorf("a waiter cannot give up in a full engine: %v", err)
			}
			wantLen(t, e, 2)
		}
	})
	t.Run("latches and their counts count", func(t *testing.T) {
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
				t.Errorf("the clients are gone, and there is no room: %v", err)
			}
			wantLen(t, e, 0)
		})
	})
}

func TestNothingIsKeptOfWhatIsReleased(t *testing.T) {
	e := memory.New()
	for _, k := range lockKinds {
		first, second := requestAs(k, "ann"), requestAs(k, "ann")
		second.Attempt = "2"
		granted(t, e, first)
		granted(t, e, second)
		if k != engine.Exclusive && k != engine.Permit && k != engine.Read {
			bob := standsInLine(t, e, requestAs(k, "bob"))
			e.Release(t.Context(), bob)
		}
		e.Release(t.Context(), first)
		e.Release(t.Context(), second)
		wantLen(t, e, 0)
	}
}

func TestNothingIsKeptOfWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		for _, k := range lockKinds {
			r := requestAs(k, "ann")
			r.Key = k.String()
			granted(t, e, r)
			if k == engine.Fair || k == engine.Write {
				r.Holder = "bob"
				standsInLine(t, e, r)
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
		visit(e)
		wantLen(t, e, 0)
	})
}

// visit uses every shard until all expired entries are swept.
func visit(e *memory.Engine) {
	for i := range 10_000 {
		e.Evict(strconv.Itoa(i))
	}
}

// TestSweepFindsExpiredHolders compares the number of permits and queue positions with
// maps, after they were acquired, renewed and given up in random order.
func TestSweepFindsExpiredHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, random := memory.New(), rand.New(rand.NewPCG(3, 4))
		permits, places := make(map[string]time.Time), make(map[string]place)
		hold := requestAs(engine.Fair, "ann")
		hold.Lease = 1000 * time.Hour
		granted(t, e, hold)
		for range 30 {
			for range 500 {
				span := time.Duration(1 + random.IntN(int(time.Minute)))
				name := strconv.Itoa(random.IntN(300))
				if random.IntN(2) == 0 {
					somethingAboutAPermit(e, random.IntN(3), name, span, permits)
				} else {
					somethingAboutAPlace(e, random.IntN(3), name, span, places)
				}
			}
			time.Sleep(time.Duration(random.IntN(int(10 * time.Second))))
			visit(e)
			e.Inspect(t.Context(), "a") // queues are checked on access
			over := func(_ string, end time.Time) bool { return !time.Now().Before(end) }
			maps.DeleteFunc(permits, over)
			maps.DeleteFunc(places, func(name string, p place) bool { return over(name, p.forgotten) })
			if want := 1 + len(permits) + len(places); e.Len() != want {
				t.Fatalf("the engine keeps %d entries, want %d", e.Len(), want)
			}
		}
	})
}

func somethingAboutAPermit(e *memory.Engine, what int, name string, span time.Duration, ends map[string]time.Time) {
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

// A position is kept for one QueueLease, and forgotten after another.
type place struct{ end, forgotten time.Time }

func somethingAboutAPlace(e *memory.Engine, what int, name string, span time.Duration, places map[string]place) {
	ctx, r, end := context.Background(), requestAs(engine.Fair, name), time.Now().Add(span)
	r.QueueLease = span
	if what == 2 {
		e.Release(ctx, r)
		delete(places, name)
	} else if e.Acquire(ctx, r); end.After(places[name].end) {
		places[name] = place{end, end.Add(span)}
	}
}

func TestTheClockOfEveryKind(t *testing.T) {
	for _, k := range lockKinds {
		synctest.Test(t, func(t *testing.T) {
			e, r := memory.New(), requestAs(k, "ann")
			r.Limit = 1
			granted(t, e, r)
			r.Holder = "bob"
			if k != engine.Read {
				standsInLine(t, e, r)
			}
			e.Step(lease)
			r.Holder = "eve" // neither the hold of ann nor bob's place is left
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

func TestASeizureIsRememberedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r := memory.New(), request("a", "ann")
		acquire(t, e, "a", "ann")
		if _, err := e.ForceRelease(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if err := e.Renew(t.Context(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrRevoked) {
			t.Errorf("got %v, want %v", err, engine.ErrRevoked)
		}
		time.Sleep(time.Nanosecond)
		if err := e.Renew(t.Context(), []engine.Request{r})[0]; errors.Is(err, engine.ErrRevoked) {
			t.Errorf("got %v after a minute", err)
		}
	})
}

func TestASeizureIsRememberedHoweverLongTheLease(t *testing.T) {
	e, r := memory.New(), request("a", "ann")
	r.Lease = math.MaxInt64
	granted(t, e, r)
	if _, err := e.ForceRelease(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	e.Step(1000 * time.Hour)
	if err := e.Renew(t.Context(), []engine.Request{r})[0]; !errors.Is(err, engine.ErrRevoked) {
		t.Errorf("got %v, want %v", err, engine.ErrRevoked)
	}
}

func TestNobodyHoldsALatch(t *testing.T) {
	_, err := memory.New().Acquire(t.Context(), requestAs(engine.Latch, "ann"))
	if err == nil || !strings.Contains(err.Error(), "count down") {
		t.Errorf("got %v, want what to do instead", err)
	}
}

func TestAPageThatIsNone(t *testing.T) {
	for _, cursor := range []string{"x", "-1", "64"} {
		if _, _, err := memory.New().List(t.Context(), "*", cursor); err == nil {
			t.Errorf("there is a page %q", cursor)
		}
	}
}
