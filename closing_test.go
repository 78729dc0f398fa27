package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// Requirement L2: no leak; live holds are counted; all can be dropped; shutdown drops them.
var closingLaws = []law{
	{"ReleaseAll drops every hold of the client, and counts them (L2)", func(t *testing.T, w *world) {
		var ctxs []context.Context
		for i := range 200 {
			ctx, _ := lock(t, w.client.Mutex(fmt.Sprintf("k:%d", i)))
			ctxs = append(ctxs, ctx)
		}
		_, otherHold := lock(t, w.another().Mutex("other:1"))
		if n := w.client.Stats().Live; n != 200 {
			t.Errorf("%d live holds, want 200", n)
		}
		if n := w.client.ReleaseAll(); n != 200 {
			t.Errorf("ReleaseAll = %d, want 200", n)
		}
		for i, ctx := range ctxs {
			wantErr(t, context.Cause(ctx), interlock.ErrRevoked)
			wantErr(t, context.Cause(ctx), interlock.ErrLost)
			wantFree(t, w.another().Mutex(fmt.Sprintf("k:%d", i)))
		}
		if s := w.client.Stats(); s.Live != 0 || s.Dropped != 200 {
			t.Errorf("%d live and %d dropped holds, want 0 and 200", s.Live, s.Dropped)
		}
		unlock(t, otherHold)
		wantFree(t, w.client.Mutex("k:1")) // the client still works
	}},
	{"Close waits for holders and does not disturb them", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		time.AfterFunc(time.Hour, func() {
			if ctx.Err() != nil {
				t.Errorf("the lock was lost: %v", context.Cause(ctx))
			}
			_ = hold.Unlock()
		})
		wantIn(t, time.Hour, time.Hour, func() {
			if err := w.client.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"Close releases locks that are still held when its context ends", func(t *testing.T, w *world) {
		held, hold := lock(t, w.client.Mutex("k:1"))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		wantIn(t, 5*time.Second, 5*time.Second, func() {
			wantErr(t, w.client.Close(ctx), context.DeadlineExceeded)
		})
		wantErr(t, context.Cause(held), interlock.ErrClosed)
		wantFree(t, w.another().Mutex("k:1"))
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"Close with a done context releases at once", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantIn(t, 0, 0, func() { wantErr(t, w.client.Close(ctx), context.Canceled) })
		wantFree(t, w.another().Mutex("k:1"))
		wantErr(t, hold.Unlock(), interlock.ErrClosed)
	}},
	{"Close ends all waiting", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		done := make(chan error, 10)
		for range 10 {
			go func() {
				_, _, err := w.client.Mutex("k:1").Lock(t.Context())
				done <- err
			}()
		}
		synctest.Wait()
		if err := w.client.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for range 10 {
			wantErr(t, <-done, interlock.ErrClosed)
		}
		unlock(t, hold)
	}},
	{"a closed client refuses to acquire a lock", func(t *testing.T, w *world) {
		_ = w.client.Close(t.Context())
		calls := w.calls()
		_, _, err := w.client.Mutex("k:1").Lock(t.Context())
		wantErr(t, err, interlock.ErrClosed)
		if w.calls() != calls {
			t.Error("the engine was asked, want no request")
		}
		if err := w.client.Close(t.Context()); err != nil {
			t.Errorf("a second Close = %v, want nil", err)
		}
	}},
	{"Close runs the OnClose functions once and returns their errors", func(t *testing.T, w *world) {
		called, broken := 0, errors.New("broken")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.client.With(interlock.Reentrant()).OnClose(func(c context.Context) error {
			called++
			if deadline, ok := c.Deadline(); !ok || time.Until(deadline) != time.Minute {
				t.Error("the function did not get the context of Close")
			}
			time.Sleep(time.Second)
			return broken
		})
		stop := w.client.OnClose(func(context.Context) error { t.Error("a stopped function was called"); return nil })
		stop()
		_, hold := lock(t, w.client.Mutex("k:1"))
		time.AfterFunc(time.Second, func() { _ = hold.Unlock() })
		wantIn(t, time.Second, time.Second, func() { wantErr(t, w.client.Close(ctx), broken) })
		if err := w.client.Close(ctx); err != nil || called != 1 {
			t.Errorf("a second Close = %v, after %d calls of the function; want nil and 1", err, called)
		}
		w.client.OnClose(func(c context.Context) error {
			called++
			wantErr(t, context.Cause(c), interlock.ErrClosed)
			return nil
		})()
		if called != 2 {
			t.Error("OnClose did not call the function although the client is closed")
		}
	}},
	{"a lock granted during Close is released", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: time.Second, Times: 1})
		result := make(chan error, 1)
		go func() {
			_, _, err := w.client.Mutex("k:1").Lock(t.Context())
			result <- err
		}()
		synctest.Wait()
		wantIn(t, time.Second, time.Second, func() { _ = w.client.Close(t.Context()) })
		wantErr(t, <-result, interlock.ErrClosed)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"Close waits for a clean-up in progress", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAbandon, Do: enginetest.Delay, After: time.Second, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, err := w.client.Mutex("k:1").Lock(ctx)
		wantErr(t, err, interlock.ErrOutcomeUnknown)
		if err := w.client.Close(t.Context()); err != nil {
			t.Error(err)
		}
		w.engine.Heal()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"Close waits for a renewal in progress, and starts no other", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Delay, After: time.Second})
		time.Sleep(10*time.Second + time.Millisecond)
		unlock(t, hold)
		wantIn(t, 990*time.Millisecond, time.Second, func() { _ = w.client.Close(t.Context()) })
		n := w.engine.Calls(enginetest.OpRenew)
		time.Sleep(time.Minute)
		if w.engine.Calls(enginetest.OpRenew) != n {
			t.Error("a lease was renewed after Close")
		}
	}},
	{"Close waits for a release in progress", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Delay, After: 100 * time.Millisecond})
		go func() { _ = hold.Unlock() }()
		synctest.Wait()
		wantIn(t, 100*time.Millisecond, 100*time.Millisecond, func() { _ = w.client.Close(t.Context()) })
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"Close does not wait for ever for an unreachable engine", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantIn(t, time.Second, 5*time.Second, func() {
			if err := w.client.Close(ctx); err == nil {
				t.Error("Close = nil, want an error")
			}
		})
		wantErr(t, hold.Unlock(), interlock.ErrClosed)
	}},
	{"a closed client leaves nothing at the engine", func(t *testing.T, w *world) {
		c := w.another()
		for i := range 50 {
			if _, _, err := c.Mutex(fmt.Sprintf("k:%d", i)).Lock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Close(ctx); err == nil || !errors.Is(err, context.Canceled) {
			t.Errorf("Close = %v, want one that matches context.Canceled", err)
		}
		if n := w.memory.Len(); n != 0 {
			t.Errorf("%d keys are left at the engine, want none", n)
		}
	}},
}
