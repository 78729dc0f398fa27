package guard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// A fakeTx is a transaction on the memory engine. Its claim has a lease that outlasts every
// law, as if the database locked the key. A rollback removes what it stored.
type fakeTx struct {
	w         *world
	settles   error // the error of Settle
	full      error // the error of Settle with more than a tombstone
	rollbacks []func() error
}

func (w *world) tx() *fakeTx { return &fakeTx{w: w} }

func (x *fakeTx) Engine() engine.Engine { return x.w.asked() }

// Claim implements [engine.Tx]. It asks every 10 ms until it has waited long enough.
func (x *fakeTx) Claim(ctx context.Context, c engine.Claim, wait time.Duration) (engine.Record, error) {
	c.Lease = 24 * time.Hour
	ledger := x.w.memory.Capabilities().Ledger
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		rec, err := ledger.Claim(ctx, c)
		if rec.Granted {
			x.rollbacks = append(x.rollbacks, func() error {
				_, err := ledger.Settle(context.Background(), engine.Settlement{Key: c.Key, Attempt: c.Attempt, Abandon: true, Lease: time.Second})
				return err
			})
		}
		if err != nil || rec.Granted || rec.State != engine.Running || time.Since(start) >= wait {
			return rec, err
		}
	}
}

// Settle implements [engine.Tx].
func (x *fakeTx) Settle(ctx context.Context, s engine.Settlement) (engine.Outcome, error) {
	if x.settles != nil {
		return 0, x.settles
	}
	if x.full != nil && bytes.Contains(s.Result, []byte("abc")) {
		return 0, x.full
	}
	x.rollbacks = append(x.rollbacks, func() error {
		_, err := x.w.memory.Capabilities().Eraser.Erase(context.Background(), s.Key)
		return err
	})
	return x.w.memory.Capabilities().Ledger.Settle(ctx, s)
}

func (x *fakeTx) rollback(t *testing.T) {
	t.Helper()
	for _, undo := range x.rollbacks {
		if err := undo(); err != nil {
			t.Fatal(err)
		}
	}
}

// doTx calls DoTx in a transaction that commits, or is rolled back after an error.
func doTx(t *testing.T, w *world, g *guard.Guard[string], j *job) (string, error) {
	t.Helper()
	x := w.tx()
	v, err := g.DoTx(t.Context(), x, key, j.do)
	if err != nil {
		x.rollback(t)
	}
	return v, err
}

// wantTx requires what doTx returns.
func wantTx(t *testing.T, w *world, g *guard.Guard[string], j *job, want string, match error) {
	t.Helper()
	if got, err := doTx(t, w, g, j); got != want || !errors.Is(err, match) {
		t.Fatalf("DoTx = %q, %v; want %q and an error that matches %v", got, err, want, match)
	}
}

// The functions of the transaction are real in engine/postgres; these laws are about the
// guard.
var txLaws = []law{
	{"work in a transaction runs once, and later transactions get its result", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Second)
		wantTx(t, w, g, j, "a", nil)
		wantTx(t, w, g, j, "a", nil)
		wantTx(t, w, process[string](t, w, order), j, "a", nil)
		j.want(t, 1)
	}},
	{"after a rollback the work runs again", func(t *testing.T, w *world) {
		g, j, x := process[string](t, w, order), work("a", 0), w.tx()
		if _, err := g.DoTx(t.Context(), x, key, j.do); err != nil {
			t.Fatal(err)
		}
		x.rollback(t)
		wantTx(t, w, g, j, "a", nil)
		j.want(t, 2)
	}},
	{"work in a transaction that fails leaves nothing, whatever OnError says", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", OnError: guard.Keep}), work("", 0)
		j.err = errors.New("sold out")
		wantTx(t, w, g, j, "", j.err)
		wantTx(t, w, g, j, "", j.err)
		j.want(t, 2)
	}},
	{"a panic in a transaction passes through", func(t *testing.T, w *world) {
		g, j, x := process[string](t, w, order), work("a", 0), w.tx()
		func() {
			defer func() {
				if p := recover(); p != "oh" {
					t.Errorf("recovered %v, want oh", p)
				}
			}()
			_, _ = g.DoTx(t.Context(), x, key, func(context.Context) (string, error) { panic("oh") })
		}()
		x.rollback(t)
		wantTx(t, w, g, j, "a", nil)
	}},
	{"a transaction that was committed after an error leaves an unknown outcome", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("", 0)
		j.err = errors.New("sold out")
		if _, err := g.DoTx(t.Context(), w.tx(), key, j.do); !errors.Is(err, j.err) {
			t.Fatal(err)
		}
		time.Sleep(24*time.Hour + time.Second) // past the lease, before the end of the retention
		fails(t, g, key, j, guard.ErrUnknown)
		wantTx(t, w, g, j, "", guard.ErrUnknown)
		j.want(t, 1)
	}},
	{"a duplicate of an open transaction is refused", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Second)
		go doTx(t, w, g, j) // ends before the law
		time.Sleep(time.Millisecond)
		wantTx(t, w, g, j, "", guard.ErrDuplicate)
		fails(t, g, key, j, guard.ErrDuplicate)
		time.Sleep(2 * time.Second)
		j.want(t, 1)
	}},
	{"a duplicate waits for an open transaction if the policy says so", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: 2 * time.Second}), work("a", time.Second)
		go doTx(t, w, g, j) // ends before the law
		time.Sleep(time.Millisecond)
		wantTx(t, w, g, j, "a", nil)
		j.want(t, 1)
	}},
	{"Do and DoTx get each other's results", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		wantTx(t, w, g, j, "a", nil)
		do(t, g, key, j, "a")
		j.want(t, 1)
		other := guard.Of("ann", "order-2")
		do(t, g, other, j, "a")
		if v, err := g.DoTx(t.Context(), w.tx(), other, j.do); v != "a" || err != nil {
			t.Errorf("DoTx after Do: %q, %v", v, err)
		}
		j.want(t, 2)
	}},
	{"work that this process did while the engine was down does not run again in a transaction", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", OnDown: guard.Local}), work("a", 0)
		failEngine(w)
		do(t, g, key.For([]byte("2 shoes")), j, "a")
		w.engine.Heal()
		wantTx(t, w, g, j, "a", nil)
		if _, err := g.DoTx(t.Context(), w.tx(), key.For([]byte("3 shoes")), j.do); !errors.Is(err, guard.ErrMismatch) {
			t.Errorf("DoTx with another payload: %v, want %v", err, guard.ErrMismatch)
		}
		j.want(t, 1)
	}},
	{"a transaction refuses another payload", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		if _, err := g.DoTx(t.Context(), w.tx(), key.For([]byte("2 shoes")), j.do); err != nil {
			t.Fatal(err)
		}
		if _, err := g.DoTx(t.Context(), w.tx(), key.For([]byte("3 shoes")), j.do); !errors.Is(err, guard.ErrMismatch) {
			t.Errorf("DoTx with another payload: %v, want %v", err, guard.ErrMismatch)
		}
		j.want(t, 1)
	}},
	{"a result that the transaction does not store is an error", func(t *testing.T, w *world) {
		g, j, x := process[string](t, w, order), work("a", 0), w.tx()
		x.settles = engine.ErrUnknown
		if v, err := g.DoTx(t.Context(), x, key, j.do); v != "" || !errors.Is(err, guard.ErrNotStored) {
			t.Errorf("DoTx = %q, %v; want %v", v, err, guard.ErrNotStored)
		}
		x.rollback(t)
		wantTx(t, w, g, j, "a", nil)
	}},
	{"a result that cannot be stored in a transaction leaves a tombstone, and the trace says why", func(t *testing.T, w *world) {
		full := fmt.Errorf("a limit of the server: %w", engine.ErrFull)
		for _, c := range []struct {
			max  int
			full error
			want error
		}{{1, nil, guard.ErrTooLarge}, {1000, full, engine.ErrFull}} {
			var ended []guard.Settled
			g := process[string](t, w, order, guard.MaxResult(c.max), guard.WithTrace(&guard.Trace{
				Settled: func(s guard.Settled) { ended = append(ended, s) },
			}))
			j, x, k := work("abc", 0), w.tx(), guard.Of("ann", c.want.Error())
			x.full = c.full
			if v, err := g.DoTx(t.Context(), x, k, j.do); v != "abc" || err != nil {
				t.Fatalf("DoTx = %q, %v; want abc", v, err)
			}
			if len(ended) != 1 || ended[0].Ending != guard.Tombstoned || !errors.Is(ended[0].Err, c.want) {
				t.Errorf("the trace has %+v, want a tombstone because of %v", ended, c.want)
			}
			if _, err := g.DoTx(t.Context(), w.tx(), k, j.do); !errors.Is(err, guard.ErrNoResult) {
				t.Errorf("the next DoTx: %v, want %v", err, guard.ErrNoResult)
			}
			j.want(t, 1)
		}
	}},
	{"a transaction of another engine is refused", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		if _, err := g.DoTx(t.Context(), &fakeTx{w: &world{}}, key, j.do); err == nil {
			t.Error("DoTx succeeded, want an error")
		}
		if _, err := g.DoTx(t.Context(), nil, key, j.do); err == nil {
			t.Error("DoTx without a transaction succeeded, want an error")
		}
		j.want(t, 0)
	}},
	{"a resolver decides about an unknown outcome in a transaction", func(t *testing.T, w *world) {
		var happened bool
		p := guard.Policy{Name: "order", OnUnknown: guard.Resolve}
		resolver := guard.Resolver(func(context.Context, guard.Key) (string, bool, error) { return "found", happened, nil })
		for _, happened = range []bool{true, false} {
			g, j := process[string](t, w, p, resolver), work("a", 0)
			_, c := begin(t, g, key)
			_ = c.Abandon()
			want := map[bool]string{true: "found", false: "a"}[happened]
			wantTx(t, w, g, j, want, nil)
			wantTx(t, w, g, j, want, nil)
			if err := g.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := w.memory.Capabilities().Eraser.Erase(t.Context(), storedKey(t)); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"the work in a transaction knows its fence", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		_, err := g.DoTx(t.Context(), w.tx(), key, func(ctx context.Context) (string, error) {
			if fence, ok := guard.Fence(ctx); !ok || fence == 0 {
				t.Errorf("Fence = %d, %t; want a fence", fence, ok)
			}
			return "", nil
		})
		if err != nil {
			t.Error(err)
		}
	}},
	{"a closed guard starts no work in a transaction", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantTx(t, w, g, j, "", guard.ErrClosed)
		j.want(t, 0)
	}},
}

// storedKey returns the key of the laws as the engine stores it.
func storedKey(t *testing.T) string {
	t.Helper()
	s, err := guard.StoredKey("order", guard.PerUser, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
