package interlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// Requirement T1: as many holders as permits, and no more.
var semaphoreLaws = []law{
	{"there are as many holders as permits across processes", func(t *testing.T, w *world) {
		clients := []*interlock.Client{w.client, w.another(), w.another()}
		var in, most atomic.Int64
		wantIn(t, 10*time.Second, 11*time.Second, func() {
			together(30, func(i int) {
				err := clients[i%3].Semaphore("k:1", 3).Do(t.Context(), func(context.Context) error {
					most.Store(max(most.Load(), in.Add(1)))
					defer in.Add(-1)
					time.Sleep(time.Second)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
		if most.Load() != 3 {
			t.Errorf("%d callers held a permit at once, want 3", most.Load())
		}
	}},
	{"permits are granted in order of arrival", func(t *testing.T, w *world) {
		_, firstHold := lock(t, w.client.Semaphore("k:1", 2).Permit())
		_, secondHold := lock(t, w.client.Semaphore("k:1", 2).Permit())
		a := newArrivals(t)
		for i := range 6 {
			a.arrive(t.Context(), i, w.another().Semaphore("k:1", 2).Permit())
		}
		unlock(t, firstHold)
		a.want(6, 0, 1, 2, 3, 4, 5)
		unlock(t, secondHold)
	}},
	{"permits released together go to as many waiters", func(t *testing.T, w *world) {
		var holds []*interlock.Hold
		for range 5 {
			_, h := lock(t, w.client.Semaphore("k:1", 5).Permit())
			holds = append(holds, h)
		}
		a := newArrivals(t)
		for i := range 5 {
			a.arrive(t.Context(), i, w.another().Semaphore("k:1", 5).Permit())
		}
		together(5, func(i int) { _ = holds[i].Unlock() })
		wantIn(t, time.Millisecond, 2*time.Millisecond, func() {
			for range 5 {
				<-a.done
			}
		})
	}},
	{"a permit is renewed and lost like a lock", func(t *testing.T, w *world) {
		ctx, hold, err := w.client.Semaphore("k:1", 1).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if _, _, err := w.another().Semaphore("k:1", 1).TryAcquire(t.Context()); ctx.Err() != nil || err == nil {
			t.Errorf("the context's error is %v, and TryAcquire of another client = %v; want nil and an error", ctx.Err(), err)
		}
		w.memory.Evict("k:1")
		time.Sleep(lease)
		wantErr(t, context.Cause(ctx), interlock.ErrNotHolder)
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"the permit of a dead holder expires", func(t *testing.T, w *world) {
		dead := enginetest.NewFaulty(w.memory)
		_, _ = lock(t, w.on(dead, interlock.Watchdog(10*time.Second)).Semaphore("k:1", 1).Permit())
		dead.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Refuse})
		wantIn(t, 5*time.Second, 11*time.Second, func() {
			_, hold := lock(t, w.client.Semaphore("k:1", 1).Permit())
			unlock(t, hold)
		})
	}},
	{"a holder of a permit gets another one", func(t *testing.T, w *world) {
		s := w.client.Semaphore("k:1", 2)
		ctx, firstHold := lock(t, s.Permit())
		_, secondHold := lockUnder(t, ctx, s.Permit())
		wantBusy(t, w.another().Semaphore("k:1", 2).Permit())
		unlock(t, secondHold)
		wantFree(t, w.another().Semaphore("k:1", 2).Permit())
		unlock(t, firstHold)
	}},
	{"a reentrant permit is entered again", func(t *testing.T, w *world) {
		s := w.client.Semaphore("k:1", 1, interlock.Reentrant())
		ctx, firstHold := lock(t, s.Permit())
		_, secondHold := lockUnder(t, ctx, s.Permit())
		unlock(t, secondHold)
		unlock(t, firstHold)
		wantFree(t, w.another().Semaphore("k:1", 1).Permit())
	}},
	{"a named owner gets one permit per request", func(t *testing.T, w *world) {
		ctx := interlock.WithOwner(t.Context(), "importer")
		_, firstHold := lockUnder(t, ctx, w.client.Semaphore("k:1", 2).Permit())
		_, secondHold := lockUnder(t, ctx, w.another().Semaphore("k:1", 2).Permit())
		wantBusy(t, w.another().Semaphore("k:1", 2).Permit())
		unlock(t, firstHold)
		unlock(t, secondHold)
	}},
	{"a limit below the number of held permits revokes none and grants none", func(t *testing.T, w *world) {
		var holds []*interlock.Hold
		for range 3 {
			_, h := lock(t, w.client.Semaphore("k:1", 3).Permit())
			holds = append(holds, h)
		}
		wantBusy(t, w.another().Semaphore("k:1", 1).Permit())
		unlock(t, holds[0])
		unlock(t, holds[1])
		wantBusy(t, w.another().Semaphore("k:1", 1).Permit())
		unlock(t, holds[2])
		wantFree(t, w.another().Semaphore("k:1", 1).Permit())
	}},
	{"a higher limit than before grants more permits", func(t *testing.T, w *world) {
		_, firstHold := lock(t, w.client.Semaphore("k:1", 1).Permit())
		_, secondHold := lock(t, w.another().Semaphore("k:1", 2).Permit())
		unlock(t, firstHold)
		unlock(t, secondHold)
	}},
	{"a waiter that gives up leaves the queue", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Semaphore("k:1", 1).Permit())
		cut, cancel := context.WithCancel(t.Context())
		a := newArrivals(t)
		a.arrive(cut, 0, w.another().Semaphore("k:1", 1).Permit())
		a.arrive(t.Context(), 1, w.another().Semaphore("k:1", 1).Permit())
		cancel()
		synctest.Wait()
		unlock(t, hold)
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(2, 1) })
	}},
	{"a semaphore without permits is refused", func(t *testing.T, w *world) {
		for _, n := range []int{0, -1} {
			_, _, err := w.client.Semaphore("k:1", n).Acquire(t.Context())
			wantErr(t, err, interlock.ErrOption)
		}
	}},
}
