package interlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

var waitingLaws = []law{
	{"a release wakes a waiter", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		time.AfterFunc(300*time.Millisecond, func() { _ = hold.Unlock() })
		wantIn(t, 300*time.Millisecond, 301*time.Millisecond, func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			unlock(t, hold)
		})
	}},
	{"a lost notification costs one second at most", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		_, hold := lock(t, w.another().Mutex("k:1"))
		time.AfterFunc(10*time.Second+time.Millisecond, func() { _ = hold.Unlock() })
		wantIn(t, 10*time.Second, 11*time.Second+time.Millisecond, func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			unlock(t, hold)
		})
	}},
	{"a dead holder's lock is free when its lease expires (R2)", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		_, hold := lock(t, w.another(interlock.Lease(10*time.Second)).Mutex("k:1"))
		_ = hold // its process died
		wantIn(t, 10*time.Second, 10*time.Second+50*time.Millisecond, func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			w.engine.Heal()
			unlock(t, hold)
		})
	}},
	{"Wait bounds the wait, and the error names the holder", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		wantIn(t, 2*time.Second, 2*time.Second, func() {
			_, _, err := w.client.Mutex("k:1", interlock.Wait(2*time.Second)).Lock(t.Context())
			var busy *interlock.ContendedError
			if !errors.As(err, &busy) || busy.Holder != hold.Holder() || busy.RetryAfter <= 0 {
				t.Errorf("Lock = %v, want a ContendedError with the holder and RetryAfter", err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("the error matches DeadlineExceeded, but the caller's context is not done")
			}
		})
		unlock(t, hold)
	}},
	{"Wait does not bound the work", func(t *testing.T, w *world) {
		err := w.client.Mutex("k:1", interlock.Wait(time.Second)).Do(t.Context(), func(ctx context.Context) error {
			time.Sleep(time.Hour)
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
	}},
	{"Wait of zero is one attempt", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		wantIn(t, 0, 0, func() {
			_, _, err := w.client.Mutex("k:1", interlock.Wait(0)).Lock(t.Context())
			wantErr(t, err, interlock.ErrContended)
		})
		unlock(t, hold)
	}},
	{"a cancelled context ends the wait, and the error has both reasons", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantIn(t, time.Second, time.Second, func() {
			_, _, err := w.client.Mutex("k:1").Lock(ctx)
			wantErr(t, err, interlock.ErrContended)
			wantErr(t, err, context.DeadlineExceeded)
		})
		unlock(t, hold)
	}},
	{"a cancelled context ends the wait in the queue, too", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		cause := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		wantIn(t, time.Second, time.Second, func() {
			_, _, err := w.client.Mutex("k:1").Lock(ctx)
			wantErr(t, err, interlock.ErrContended)
			wantErr(t, err, cause)
			var busy *interlock.ContendedError
			if !errors.As(err, &busy) || busy.Holder != hold.Holder() {
				t.Errorf("Lock = %v, want a ContendedError with the holder %q", err, hold.Holder())
			}
		})
		unlock(t, hold)
		wantFree(t, w.client.Mutex("k:1"))
	}},
	{"Poll waits as its Backoff says, and does not listen", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		tries := 0
		backoff := func(n int) time.Duration {
			if tries++; n != tries {
				t.Errorf("Backoff got %d tries, want %d", n, tries)
			}
			return 4 * time.Second
		}
		time.AfterFunc(9*time.Second, func() { _ = hold.Unlock() })
		wantIn(t, 12*time.Second, 12*time.Second, func() {
			_, hold := lock(t, w.client.Mutex("k:1", interlock.Poll(backoff)))
			unlock(t, hold)
		})
	}},
	{"a release wakes many processes, and one gets the lock", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		const processes = 20
		var got atomic.Int64
		for range processes {
			c := w.another()
			go func() {
				if _, hold, err := c.Mutex("k:1").Lock(t.Context()); err == nil {
					got.Add(1)
					time.Sleep(time.Second)
					_ = hold.Unlock()
				}
			}()
		}
		time.Sleep(100 * time.Millisecond)
		before := w.engine.Calls(enginetest.OpAcquire)
		unlock(t, hold)
		synctest.Wait()
		if got.Load() != 1 {
			t.Errorf("%d processes got the lock, want 1", got.Load())
		}
		if n := w.engine.Calls(enginetest.OpAcquire) - before; n > processes {
			t.Errorf("one release caused %d requests, want at most one for each of %d processes", n, processes)
		}
		time.Sleep(time.Minute)
	}},
}
