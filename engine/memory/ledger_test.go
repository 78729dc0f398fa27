package memory_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

func claim(key, attempt string) engine.Claim {
	return engine.Claim{Key: key, Attempt: attempt, Lease: lease, Retain: time.Hour}
}

func begin(t *testing.T, e *memory.Engine, c engine.Claim) {
	t.Helper()
	if r, err := e.Capabilities().Ledger.Claim(context.Background(), c); err != nil || !r.Granted {
		t.Fatalf("claim of %q: %+v, error %v", c.Key, r, err)
	}
}

func settle(t *testing.T, e *memory.Engine, x engine.Settlement, want engine.Outcome) {
	t.Helper()
	if o, err := e.Capabilities().Ledger.Settle(context.Background(), x); err != nil || o != want {
		t.Fatalf("settle %q: %v, error %v; want %v", x.Key, o, err, want)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	t.Run("a claim without capacity is refused with advice", func(t *testing.T) {
		e := memory.New(memory.MaxKeys(1))
		begin(t, e, claim("one", "1"))
		_, err := e.Capabilities().Ledger.Claim(context.Background(), claim("two", "1"))
		if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), "memory.MaxKeys") {
			t.Errorf("Claim: err = %v, want %v with advice", err, engine.ErrFull)
		}
	})
	t.Run("a claim beyond MaxBytes is refused with advice", func(t *testing.T) {
		e := memory.New(memory.MaxBytes(3 << 10))
		stored := 0
		for i := range 10 {
			key := strconv.Itoa(i)
			if _, err := e.Capabilities().Ledger.Claim(context.Background(), claim(key, "1")); err != nil {
				if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), "memory.MaxBytes") {
					t.Fatalf("Claim: err = %v, want %v with advice", err, engine.ErrFull)
				}
				continue
			}
			settle(t, e, engine.Settlement{Key: key, Attempt: "1", Outcome: engine.Done, Retain: time.Hour, Result: make([]byte, 1<<10)}, engine.Released)
			stored++
		}
		if stored != 3 {
			t.Errorf("%d results of 1 KiB were stored, want 3", stored)
		}
	})
	t.Run("the result of a running claim is stored even beyond MaxBytes", func(t *testing.T) {
		e := memory.New(memory.MaxBytes(1))
		begin(t, e, claim("one", "1"))
		begin(t, e, claim("two", "1"))
		for _, key := range []string{"one", "two"} {
			settle(t, e, engine.Settlement{Key: key, Attempt: "1", Outcome: engine.Done, Retain: time.Hour, Result: []byte("result")}, engine.Released)
			if r, err := e.Capabilities().Ledger.Lookup(context.Background(), key); err != nil || string(r.Result) != "result" {
				t.Errorf("lookup of %q: result %q, error %v; want the stored result", key, r.Result, err)
			}
		}
	})
	t.Run("expired and erased results free bytes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New(memory.MaxBytes(1))
			for i := range 6 {
				key := strconv.Itoa(i)
				begin(t, e, claim(key, "1"))
				settle(t, e, engine.Settlement{Key: key, Attempt: "1", Outcome: engine.Done, Retain: lease, Result: make([]byte, 100)}, engine.Released)
				if i%2 == 0 {
					e.Evict(key)
				} else {
					time.Sleep(lease)
				}
			}
		})
	})
	t.Run("a settlement needs no capacity", func(t *testing.T) {
		e := memory.New(memory.MaxKeys(1))
		begin(t, e, claim("one", "1"))
		settle(t, e, engine.Settlement{Key: "one", Attempt: "1", Outcome: engine.Done, Retain: time.Hour}, engine.Released)
		if e.Len() != 1 {
			t.Errorf("the engine keeps %d entries, want 1", e.Len())
		}
	})
	t.Run("a granted claim can be abandoned without capacity", func(t *testing.T) {
		e := memory.New(memory.MaxKeys(1))
		begin(t, e, claim("one", "1"))
		settle(t, e, engine.Settlement{Key: "one", Attempt: "1", Abandon: true, Lease: lease}, engine.Released)
		if e.Len() != 1 {
			t.Errorf("the engine keeps %d entries, want the tombstone", e.Len())
		}
	})
	t.Run("abandoning again uses no more capacity", func(t *testing.T) {
		e := memory.New(memory.MaxKeys(1))
		for range 3 {
			settle(t, e, engine.Settlement{Key: "one", Attempt: "1", Abandon: true, Lease: lease}, engine.AlreadyFree)
		}
		_, err := e.Capabilities().Ledger.Settle(context.Background(),
			engine.Settlement{Key: "one", Attempt: "2", Abandon: true, Lease: lease})
		if !errors.Is(err, engine.ErrFull) {
			t.Errorf("abandoning another attempt: %v, want %v", err, engine.ErrFull)
		}
	})
	t.Run("expired records free capacity", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := memory.New(memory.MaxKeys(1))
			for i := range 5 {
				key := strconv.Itoa(i)
				begin(t, e, claim(key, "1"))
				settle(t, e, engine.Settlement{Key: key, Attempt: "1", Outcome: engine.Done, Retain: lease}, engine.Released)
				time.Sleep(lease)
			}
		})
	})
	t.Run("a settlement as absent leaves no entry", func(t *testing.T) {
		e := memory.New()
		begin(t, e, claim("one", "1"))
		settle(t, e, engine.Settlement{Key: "one", Attempt: "1"}, engine.Released)
		if e.Len() != 0 {
			t.Errorf("the engine keeps %d entries, want none", e.Len())
		}
	})
}

// TestExpiredRecordIsNotFound checks that an expired record is not found even before it is
// swept. A record is swept late if many expire at once, or if it is queued behind a record
// that expires later.
func TestExpiredRecordIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memory.New()
		const n = 1000 // so that every shard has some of each batch
		batches := []struct {
			name string
			kept time.Duration
		}{{"first", 9 * time.Second}, {"longer", 10 * time.Second}, {"between", 9500 * time.Millisecond}}
		for _, b := range batches {
			for i := range n {
				key := b.name + strconv.Itoa(i)
				begin(t, e, claim(key, "1"))
				settle(t, e, engine.Settlement{Key: key, Attempt: "1", Outcome: engine.Done, Retain: b.kept}, engine.Released)
			}
		}
		time.Sleep(9500 * time.Millisecond)
		for i := range n {
			begin(t, e, claim("first"+strconv.Itoa(i), "2"))
			begin(t, e, claim("between"+strconv.Itoa(i), "2"))
		}
	})
}

// TestExpiredRecordsAreSwept checks that an expired record is not hidden behind an
// earlier one that expires much later.
func TestExpiredRecordsAreSwept(t *testing.T) {
	const n = 1000 // so that every shard has some of each kind
	look := func(e *memory.Engine) {
		for i := range 100 * n {
			_, _ = e.Capabilities().Ledger.Lookup(context.Background(), strconv.Itoa(i))
		}
	}
	claims := func(t *testing.T, e *memory.Engine, name string) {
		t.Helper()
		for i := range n {
			begin(t, e, engine.Claim{Key: name + strconv.Itoa(i), Attempt: "1", Lease: time.Hour, Retain: 2 * time.Hour})
		}
	}
	t.Run("a retention that counts from the start of the work", func(t *testing.T) {
		e := memory.New()
		claims(t, e, "slow")
		e.Step(50 * time.Minute)
		claims(t, e, "quick")
		for i := range n {
			for _, name := range []string{"slow", "quick"} {
				settle(t, e, engine.Settlement{Key: name + strconv.Itoa(i), Attempt: "1", Outcome: engine.Done, Retain: time.Hour, FromStart: true}, engine.Released)
			}
		}
		e.Step(13 * time.Minute) // a quarter more than the 10m left of the slow claims' retention
		look(e)
		if e.Len() != n {
			t.Errorf("the engine keeps %d entries, want %d", e.Len(), n)
		}
	})
	t.Run("a clock that is set back between claims", func(t *testing.T) {
		e := memory.New()
		e.Step(10 * time.Hour)
		claims(t, e, "ahead")
		e.Step(-10 * time.Hour)
		claims(t, e, "now")
		e.Step(2*time.Hour + time.Second)
		look(e)
		if e.Len() != n {
			t.Errorf("the engine keeps %d entries, want %d", e.Len(), n)
		}
	})
}

func TestEvictForgetsARecord(t *testing.T) {
	e := memory.New()
	c := claim("one", "1")
	begin(t, e, c)
	e.Evict("one")
	if errs := e.Capabilities().Ledger.Renew(context.Background(), []engine.Claim{c}); !errors.Is(errs[0], engine.ErrNotHolder) {
		t.Errorf("renewal of an evicted claim: %v, want %v", errs[0], engine.ErrNotHolder)
	}
	if e.Len() != 0 {
		t.Errorf("the engine keeps %d entries, want none", e.Len())
	}
}

func BenchmarkLedger(b *testing.B) {
	ctx, result := context.Background(), []byte("a result of about forty bytes, as is usual")
	for _, outcome := range []engine.State{engine.Absent, engine.Done} {
		b.Run("claim and settle as "+outcome.String(), func(b *testing.B) {
			l := memory.New().Capabilities().Ledger
			x := engine.Settlement{Attempt: "1", Outcome: outcome, Result: result, Retain: time.Millisecond}
			c, keys := claim("", "1"), make([]string, 100_000)
			for i := range keys {
				keys[i] = "order:" + strconv.Itoa(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.Key = keys[i%len(keys)]
				x.Key = c.Key
				_, _ = l.Claim(ctx, c)
				_, _ = l.Settle(ctx, x)
			}
		})
	}
	b.Run("done records are found", func(b *testing.B) {
		l := memory.New().Capabilities().Ledger
		_, _ = l.Claim(ctx, claim("order", "1"))
		_, _ = l.Settle(ctx, engine.Settlement{Key: "order", Attempt: "1", Outcome: engine.Done, Result: result, Retain: time.Hour})
		c := claim("order", "2")
		b.ReportAllocs()
		for b.Loop() {
			_, _ = l.Claim(ctx, c)
		}
	})
}
