package guard_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var onceLaws = []law{
	{"the work runs once, and later callers get its result (P6)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Second)
		for range 5 {
			do(t, g, key, j, "a")
		}
		do(t, process[string](t, w, order), key, j, "a")
		j.want(t, 1)
	}},
	{"of a hundred concurrent calls one runs, and the others are duplicates (S3)", func(t *testing.T, w *world) {
		j := work("a", time.Second)
		guards := []*guard.Guard[string]{process[string](t, w, order), process[string](t, w, order), process[string](t, w, order)}
		var done, dup atomic.Int64
		together(100, func(i int) {
			_, err := guards[i%3].Do(t.Context(), key, j.do)
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, guard.ErrDuplicate):
				dup.Add(1)
			default:
				t.Errorf("Do: %v", err)
			}
		})
		if done.Load() != 1 || dup.Load() != 99 {
			t.Errorf("%d calls ran and %d were duplicates, want 1 and 99", done.Load(), dup.Load())
		}
		j.want(t, 1)
	}},
	{"a payment clicked five times runs once (P10)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Payment("pay")), work("paid", 2*time.Second)
		together(5, func(int) { _, _ = g.Do(t.Context(), key, j.do) })
		refused(t, g, key, j)
		j.want(t, 1)
	}},
	{"an import runs once for all users (P2, P10)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Import("import")), work("rows", time.Second)
		do(t, g, guard.Key{User: "ann", ID: "2026-11"}, j, "rows")
		do(t, g, guard.Key{User: "bob", ID: "2026-11"}, j, "rows")
		do(t, g, guard.ID("2026-11"), j, "rows")
		j.want(t, 1)
	}},
	{"by default the same ID of two users is two keys (P2)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		do(t, g, guard.Of("ann", "1"), j, "a")
		do(t, g, guard.Of("bob", "1"), j, "a")
		j.want(t, 2)
	}},
	{"with PerRoute, one order number serves several operations (P2)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", Scope: guard.PerRoute}), work("a", 0)
		do(t, g, guard.Key{User: "ann", Route: "pay", ID: "1"}, j, "a")
		do(t, g, guard.Key{User: "ann", Route: "cancel", ID: "1"}, j, "a")
		do(t, g, guard.Key{User: "ann", Route: "pay", ID: "1"}, j, "a")
		j.want(t, 2)
	}},
	{"guards with different client prefixes do not share or list each other's keys", func(t *testing.T, w *world) {
		client := interlock.New(w.asked())
		tenantA := guard.Must(guard.New[string](client.With(interlock.Prefix("tenant-a:")), order))
		tenantB := guard.Must(guard.New[string](client.With(interlock.Prefix("tenant-b:")), order))
		do(t, tenantA, key, work("secret of a", 0), "secret of a")
		do(t, tenantB, key, work("b", 0), "b")
		for _, g := range []*guard.Guard[string]{tenantA, tenantB} {
			n := 0
			for s, err := range g.List(t.Context()) {
				ok(t, err)
				if _, err := g.Lookup(t.Context(), guard.Hashed(s.Key)); err != nil {
					t.Error(err)
				}
				n++
			}
			if n != 1 {
				t.Errorf("%d records are listed, want only the guard's own", n)
			}
		}
		w.closers = append(w.closers, func() { _ = tenantA.Close(context.Background()); _ = tenantB.Close(context.Background()) })
	}},
	{"guards with different names do not share keys", func(t *testing.T, w *world) {
		j := work("a", 0)
		do(t, process[string](t, w, order), key, j, "a")
		do(t, process[string](t, w, guard.Policy{Name: "refund"}), key, j, "a")
		j.want(t, 2)
	}},
	{"a result is kept for Retain after it was stored, and no longer (P6)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Minute)
		do(t, g, key, j, "a")
		time.Sleep(guard.DefaultRetain - time.Second)
		do(t, g, key, j, "a")
		j.want(t, 1)
		time.Sleep(time.Second)
		do(t, g, key, j, "a")
		j.want(t, 2)
	}},
	{"with After Free the next submission is accepted as soon as the first is done (L5, P3)", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Free, Lease: 10 * time.Second}
		g, j := process[string](t, w, p), work("a", time.Second)
		wait := startCall(t, g, key, j)
		refused(t, g, key, j)
		refused(t, process[string](t, w, p), key, j)
		_, err := wait()
		ok(t, err)
		do(t, process[string](t, w, p), key, j, "a")
		do(t, g, key, j, "a")
		j.want(t, 3)
	}},
	{"once the first submission is done, another process may submit, even if it was refused a moment ago (L5)", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Free}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Second)
		wait := startCall(t, g, key, j)
		time.Sleep(990 * time.Millisecond)
		refused(t, otherProcess, key, j)
		_, err := wait()
		ok(t, err)
		do(t, otherProcess, key, j, "a")
	}},
	{"duplicates are refused for as long as the work takes, however short the lease (L6, L7)", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Free, Lease: 2 * time.Second, MaxHold: time.Hour}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Minute)
		wait := startCall(t, g, key, j)
		for range 59 {
			time.Sleep(time.Second)
			refused(t, otherProcess, key, j)
		}
		_, err := wait()
		ok(t, err)
		do(t, otherProcess, key, j, "a")
		j.want(t, 2)
	}},
	{"the work sees its fence, and every claim of a key has a larger one", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "form", After: guard.Free})
		var last uint64
		for range 3 {
			_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) {
				fence, ok := guard.Fence(ctx)
				if !ok || fence <= last {
					t.Errorf("Fence = %d, %v; want more than %d, true", fence, ok, last)
				}
				last = fence
				return "", nil
			})
			ok(t, err)
		}
		if _, ok := guard.Fence(t.Context()); ok {
			t.Error("a context without a claim has a fence")
		}
	}},
	{"a call nested in its own work is refused instead of waiting for itself", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "order", OnDuplicate: guard.Wait})
		_, err := g.Do(t.Context(), key, func(ctx context.Context) (string, error) {
			_, err := g.Do(ctx, guard.Of("ann", "other"), func(ctx context.Context) (string, error) {
				_, err := g.Do(ctx, key, work("b", 0).do)
				return "", err
			})
			var d *guard.DuplicateError
			if !errors.As(err, &d) || !d.Self {
				t.Errorf("the nested call got %v, want a DuplicateError with Self", err)
			}
			return "a", nil
		})
		ok(t, err)
	}},
	{"the context of the work ends with the work", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		ctx, c := begin(t, g, key)
		ok(t, c.Complete("a"))
		wantErr(t, context.Cause(ctx), interlock.ErrReleased)
	}},
	{"a claim has the shape of a transaction", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		ctx, c := begin(t, g, key)
		if c.Fence() == 0 || c.Left() <= 0 || ctx.Err() != nil || c.Unguarded() != nil {
			t.Errorf("Fence = %d, Left = %v, Err = %v, Unguarded = %v; want a live claim with a fence", c.Fence(), c.Left(), ctx.Err(), c.Unguarded())
		}
		ok(t, c.Complete("a"))
		ok(t, c.Abandon())
		wantErr(t, c.Complete("b"), guard.ErrSettled)
		wantErr(t, c.Fail(errors.New("no")), guard.ErrSettled)
		_, again, err := g.Begin(t.Context(), key)
		ok(t, err)
		if v, found := again.Result(); !found || v != "a" {
			t.Errorf("Result = %q, %v; want a, true", v, found)
		}
		ok(t, again.Complete("c"))
		ok(t, again.Fail(errors.New("no")))
		ok(t, again.Abandon())
		do(t, g, key, work("d", 0), "a")
	}},
	{"a claim whose reply was lost is recognised when it is repeated", func(t *testing.T, w *world) {
		g, j := remote[string](t, w, order), work("a", time.Second)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.LoseReply, Times: 2})
		do(t, g, key, j, "a")
		do(t, process[string](t, w, order), key, j, "a")
		j.want(t, 1)
	}},
	{"a settlement whose reply was lost is stored once", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{order, {Name: "free", After: guard.Free}, {Name: "window", After: guard.Window, Window: time.Millisecond * 10}} {
			g, j := process[string](t, w, p), work("a", 20*time.Millisecond)
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.LoseReply, Times: 2})
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.Refuse, Times: 1})
			do(t, g, key, j, "a")
			if n := g.Stats().Endings[guard.NotStored] + g.Stats().Endings[guard.Late]; n != 0 {
				t.Errorf("%s: %d results ended as not stored or late, want none", p.Name, n)
			}
		}
	}},
	{"runtime.Goexit in the work counts as a panic", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Policy{Name: "order", OnUnknown: guard.Hold}), work("a", 0)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = g.Do(t.Context(), key, func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
		}()
		<-done
		fails(t, g, key, j, guard.ErrUnknown)
		j.want(t, 0)
	}},
	{"a wrapped function runs once for each key", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		n := 0
		pay := guard.Wrap(g, func(id string) guard.Key { return guard.Of("ann", id) },
			func(_ context.Context, id string) (string, error) { n++; return "paid " + id, nil })
		for _, id := range []string{"1", "2", "1"} {
			if got, err := pay(t.Context(), id); err != nil || got != "paid "+id {
				t.Errorf("pay(%q) = %q, %v; want %q", id, got, err, "paid "+id)
			}
		}
		if n != 2 {
			t.Errorf("the function ran %d times, want 2", n)
		}
	}},
}
