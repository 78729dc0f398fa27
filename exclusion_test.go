package interlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
)

// R2 (mutual exclusion, only the holder unlocks), L1, L3, L4, S1.
var exclusionLaws = []law{
	{"a lock has one holder at a time (R2)", func(t *testing.T, w *world) {
		inside := 0
		wantIn(t, 50*time.Second, 50*time.Second, func() {
			together(50, func(int) {
				err := w.client.Mutex("k:1").Do(t.Context(), func(context.Context) error {
					if inside++; inside != 1 {
						t.Errorf("%d holders are inside at once, want 1", inside)
					}
					time.Sleep(time.Second)
					inside--
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}},
	{"locks of other keys are independent", func(t *testing.T, w *world) {
		_, a := lock(t, w.client.Mutex("k:1"))
		_, b := lock(t, w.client.Mutex("k:2"))
		unlock(t, a)
		unlock(t, b)
	}},
	{"another process is blocked, too", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		busy := wantBusy(t, w.another().Mutex("k:1"))
		if busy.Holder != hold.Holder() {
			t.Errorf("held by %q, want %q", busy.Holder, hold.Holder())
		}
		if busy.RetryAfter <= 0 || busy.RetryAfter > lease {
			t.Errorf("RetryAfter = %v, want above 0 and at most %v", busy.RetryAfter, lease)
		}
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"every acquisition has a unique holder (L1)", func(t *testing.T, w *world) {
		seen := map[string]bool{}
		for _, c := range []*interlock.Client{w.client, w.another(), w.another()} {
			for range 100 {
				_, hold := lock(t, c.Mutex("k:1"))
				if seen[hold.Holder()] {
					t.Errorf("%q held the lock twice", hold.Holder())
				}
				seen[hold.Holder()] = true
				unlock(t, hold)
			}
		}
	}},
	{"fences grow with every change of holder", func(t *testing.T, w *world) {
		var last uint64
		for range 100 {
			_, hold := lock(t, w.another().Mutex("k:1"))
			if hold.Fence() <= last {
				t.Fatalf("fence %d follows fence %d, want a higher one", hold.Fence(), last)
			}
			last = hold.Fence()
			unlock(t, hold)
		}
	}},
	{"a lock is released when the work succeeds, fails or panics (L4)", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1")
		if err := m.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		wantFree(t, w.another().Mutex("k:1"))
		oops := errors.New("oops")
		wantErr(t, m.Do(t.Context(), func(context.Context) error { return oops }), oops)
		wantFree(t, w.another().Mutex("k:1"))
		func() {
			defer func() {
				if r := recover(); r != oops { //nolint:errorlint // a panic value, passed on as it is
					t.Errorf("recovered %v, want the work's own panic", r)
				}
			}()
			_ = m.Do(t.Context(), func(context.Context) error { panic(oops) })
		}()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a second Unlock does nothing and returns the same", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		unlock(t, hold)
		calls := w.calls()
		_, otherHold := lock(t, w.another().Mutex("k:1"))
		unlock(t, hold)
		wantBusy(t, w.another().Mutex("k:1"))
		if n := w.calls() - calls; n != 2 {
			t.Errorf("%d calls, want 2: the other clients' own", n)
		}
		unlock(t, otherHold)
	}},
	{"any goroutine may unlock", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		go func() { _ = hold.Unlock() }()
		synctest.Wait()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"an uncontended lock costs two calls (S1)", func(t *testing.T, w *world) {
		before := w.calls()
		wantFree(t, w.client.Mutex("k:1"))
		if n := w.calls() - before; n != 2 {
			t.Errorf("%d calls, want 2: one to acquire, one to release", n)
		}
	}},
	{"the returned context ends with the hold, and its cause is the reason", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		if ctx.Err() != nil {
			t.Errorf("the context ended before Unlock: %v", ctx.Err())
		}
		unlock(t, hold)
		if cause := context.Cause(ctx); cause != interlock.ErrReleased { //nolint:errorlint // identity is the point
			t.Errorf("cause = %v, want ErrReleased", cause)
		}
	}},
	{"the cause of a context is the unlock or the caller's cancellation, whichever came first", func(t *testing.T, w *world) {
		left := errors.New("the caller left")
		for _, first := range []error{interlock.ErrReleased, left} {
			parent, leave := context.WithCancelCause(t.Context())
			ctx, hold := lockUnder(t, parent, w.client.Mutex("k:1"))
			if first == left { //nolint:errorlint // identity is the point
				leave(left)
			}
			unlock(t, hold)
			leave(left)
			if cause := context.Cause(ctx); cause != first { //nolint:errorlint // identity is the point
				t.Errorf("cause = %v, want %v", cause, first)
			}
		}
	}},
	{"on error the caller keeps its own context", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		type mine struct{}
		ctx := context.WithValue(t.Context(), mine{}, true)
		got, noHold, err := w.client.Mutex("k:1").TryLock(ctx)
		wantErr(t, err, interlock.ErrContended)
		if got != ctx || noHold != nil {
			t.Errorf("TryLock = %v, %v; want the caller's context and no hold", got, noHold)
		}
		unlock(t, hold)
	}},
	{"an unused key leaves nothing behind", func(t *testing.T, w *world) {
		for range 10 {
			together(5, func(int) {
				_ = w.client.Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil })
			})
		}
		synctest.Wait()
		if n := w.client.Queues(); n != 0 {
			t.Errorf("%d local queues are left, want none", n)
		}
		if n := w.client.Leases(); n != 0 {
			t.Errorf("%d leases are left, want none", n)
		}
		if n := w.memory.Len(); n != 0 {
			t.Errorf("%d keys are left in the engine, want none", n)
		}
	}},
}
