package interlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// Requirement T4: each release removes one entry, and only the owner's last one frees the
// lock.
var ownershipLaws = []law{
	{"code under the context enters again without asking the engine", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		ctx, outer := lock(t, m)
		calls := w.calls()
		again, inner, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if again != ctx || inner.Fence() != outer.Fence() {
			t.Errorf("entered as another holder: fence %d, want %d", inner.Fence(), outer.Fence())
		}
		if n := w.calls() - calls; n != 0 {
			t.Errorf("%d calls, want none", n)
		}
		unlock(t, inner)
		unlock(t, outer)
	}},
	{"the last Unlock releases, in any order (T4)", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		ctx, outer := lock(t, m)
		_, inner, err := m.TryLock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, outer)
		wantBusy(t, w.another().Mutex("k:1"))
		if ctx.Err() != nil {
			t.Error("the context ended with an entry left")
		}
		unlock(t, inner)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"without Reentrant a nested lock fails at once with the reason", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		wantIn(t, 0, 0, func() {
			_, _, err := w.client.Mutex("k:1").Lock(ctx)
			var busy *interlock.ContendedError
			if !errors.As(err, &busy) || !busy.Self {
				t.Errorf("Lock = %v, want a ContendedError with Self", err)
			}
			if err == nil || !strings.Contains(err.Error(), "Reentrant") {
				t.Errorf("the error is %q, want it to mention Reentrant", err)
			}
		})
		unlock(t, hold)
	}},
	{"goroutines under the lock share it", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		err := m.Do(t.Context(), func(ctx context.Context) error {
			together(10, func(int) {
				if err := m.Do(ctx, func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}},
	{"a context derived from the hold's carries it too", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		_ = m.Do(t.Context(), func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return w.client.Mutex("k:2", interlock.Reentrant()).Do(ctx, func(ctx context.Context) error {
				_, hold, err := m.TryLock(ctx)
				if err != nil {
					t.Errorf("TryLock under a second lock = %v, want an entry into the first", err)
					return nil
				}
				return hold.Unlock()
			})
		})
	}},
	{"WithoutHolds removes the holds of a context", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		_ = m.Do(t.Context(), func(ctx context.Context) error {
			_, _, err := m.TryLock(interlock.WithoutHolds(ctx))
			var busy *interlock.ContendedError
			if !errors.As(err, &busy) || busy.Self {
				t.Errorf("TryLock = %v, want a ContendedError without Self", err)
			}
			return nil
		})
	}},
	{"a context outlives its holds", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		ctx, hold := lock(t, m)
		unlock(t, hold)
		_, otherHold := lock(t, w.another().Mutex("k:1"))
		_, _, err := m.TryLock(context.WithoutCancel(ctx))
		wantErr(t, err, interlock.ErrContended)
		unlock(t, otherHold)
		_, again, err := m.TryLock(context.WithoutCancel(ctx))
		if err != nil {
			t.Fatalf("TryLock = %v, want the free lock although the context carries an ended hold", err)
		}
		unlock(t, again)
	}},
	{"a hold of another client or key gives no entry", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1", interlock.Reentrant()))
		_, _, err := w.another().Mutex("k:1", interlock.Reentrant()).TryLock(ctx)
		wantErr(t, err, interlock.ErrContended)
		_, otherHold, err := w.client.Mutex("k:2").TryLock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, otherHold)
		unlock(t, hold)
	}},
	{"a named owner enters from another process, and the engine counts", func(t *testing.T, w *world) {
		ctxOf := func(name string) context.Context { return interlock.WithOwner(t.Context(), name) }
		first, second := w.client.Mutex("k:1"), w.another().Mutex("k:1")
		_, a, err := first.Lock(ctxOf("saga-7"))
		if err != nil {
			t.Fatal(err)
		}
		_, b, err := second.TryLock(ctxOf("saga-7"))
		if err != nil {
			t.Fatal(err)
		}
		if a.Fence() != b.Fence() || a.Holder() != b.Holder() {
			t.Errorf("the holders are %s and %s, want the same holder and fence", a.Holder(), b.Holder())
		}
		if _, _, err := second.TryLock(ctxOf("saga-8")); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("TryLock of another owner = %v, want ErrContended", err)
		}
		unlock(t, a)
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, b)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a named owner enters its lock in the same process without waiting in the queue", func(t *testing.T, w *world) {
		ctx := interlock.WithOwner(t.Context(), "saga-7")
		_, a, err := w.client.Mutex("k:1").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if _, hold, err := w.client.Mutex("k:1").Lock(t.Context()); err == nil {
				_ = hold.Unlock()
			}
		}()
		synctest.Wait()
		_, b, err := w.client.Mutex("k:1").TryLock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, a)
		unlock(t, b)
	}},
	{"an empty owner name means no owner", func(t *testing.T, w *world) {
		ctx := interlock.WithOwner(t.Context(), "")
		_, hold, err := w.client.Mutex("k:1").TryLock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.another().Mutex("k:1").TryLock(ctx); !errors.Is(err, interlock.ErrContended) {
			t.Errorf("TryLock of another caller without a name = %v, want ErrContended", err)
		}
		unlock(t, hold)
	}},
	{"a named owner's retried entry is counted once", func(t *testing.T, w *world) {
		ctx := interlock.WithOwner(t.Context(), "saga-7")
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Times: 1})
		_, a, err := w.client.Mutex("k:1").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, a)
		wantFree(t, w.another().Mutex("k:1"))
	}},
}
