package interlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// Requirement T1: several locks, all or none.
var multiLaws = []law{
	{"all locks are held, and all are released", func(t *testing.T, w *world) {
		keys := []string{"k:3", "k:1", "k:2"}
		_, hold := lock(t, w.client.Multi(keys))
		for _, k := range keys {
			wantBusy(t, w.another().Mutex(k))
		}
		if hold.Key() != "k:1,k:2,k:3" || len(hold.Parts()) != 3 || hold.Left() <= 0 {
			t.Errorf("Key() = %q with %d parts and %v left, want k:1,k:2,k:3 with 3 parts", hold.Key(), len(hold.Parts()), hold.Left())
		}
		unlock(t, hold)
		for _, k := range keys {
			wantFree(t, w.another().Mutex(k))
		}
		if hold.Left() != 0 {
			t.Errorf("Left() = %v after Unlock, want 0", hold.Left())
		}
	}},
	{"a repeated key is acquired once", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Multi([]string{"k:1", "k:2", "k:1"}))
		if len(hold.Parts()) != 2 {
			t.Errorf("%d parts, want 2", len(hold.Parts()))
		}
		unlock(t, hold)
	}},
	{"a Multi without keys is refused", func(t *testing.T, w *world) {
		_, _, err := w.client.Multi(nil).Lock(t.Context())
		wantErr(t, err, interlock.ErrKey)
	}},
	{"one invalid key fails the Multi before anything is acquired", func(t *testing.T, w *world) {
		_, _, err := w.client.Multi([]string{"k:1", ""}).Lock(t.Context())
		wantErr(t, err, interlock.ErrKey)
		if n := w.engine.Calls(enginetest.OpAcquire); n != 0 {
			t.Errorf("%d acquisitions, want none", n)
		}
	}},
	{"TryLock acquires none if one is held", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		_, _, err := w.client.Multi([]string{"k:1", "k:2", "k:3"}).TryLock(t.Context())
		var busy *interlock.ContendedError
		if !errors.As(err, &busy) || busy.Key != "k:2" {
			t.Errorf("TryLock = %v, want a ContendedError for k:2", err)
		}
		wantFree(t, w.another().Mutex("k:1"))
		wantFree(t, w.another().Mutex("k:3"))
		unlock(t, otherHold)
	}},
	{"while a Multi waits for a lock, it holds the earlier ones and not the later ones", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		a := newArrivals(t)
		a.arrive(t.Context(), 1, w.client.Multi([]string{"k:1", "k:2", "k:3"}))
		wantBusy(t, w.another().Mutex("k:1"))
		wantFree(t, w.another().Mutex("k:3"))
		unlock(t, otherHold)
		a.want(1, 1)
	}},
	{"two callers with the same keys in another order do not deadlock", func(t *testing.T, w *world) {
		c := []*interlock.Client{w.client, w.another()}
		orders := [][]string{{"k:1", "k:2", "k:3"}, {"k:3", "k:2", "k:1"}}
		in := 0
		together(10, func(i int) {
			for range 10 {
				err := c[i%2].Multi(orders[i/2%2]).Do(t.Context(), func(context.Context) error {
					in++
					defer func() { in-- }()
					time.Sleep(time.Millisecond)
					if in != 1 {
						t.Errorf("%d callers hold all locks at once, want 1", in)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}},
	{"a hundred free locks are acquired in parallel", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: time.Millisecond})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Delay, After: time.Millisecond})
		var keys []string
		for i := range 100 {
			keys = append(keys, fmt.Sprintf("k:%d", i))
		}
		wantIn(t, 2*time.Millisecond, 2*time.Millisecond, func() {
			_, hold := lock(t, w.client.Multi(keys))
			unlock(t, hold)
		})
	}},
	{"when the wait ends, no lock is kept", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		wantIn(t, time.Second, time.Second, func() {
			_, _, err := w.client.Multi([]string{"k:1", "k:2", "k:3"}, interlock.Wait(time.Second)).Lock(t.Context())
			wantErr(t, err, interlock.ErrContended)
		})
		wantFree(t, w.another().Mutex("k:1"))
		wantFree(t, w.another().Mutex("k:3"))
		unlock(t, otherHold)
	}},
	{"Wait bounds the whole wait for several locks", func(t *testing.T, w *world) {
		_, firstHold := lock(t, w.another().Mutex("k:1"))
		_, secondHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(700*time.Millisecond, func() { _ = firstHold.Unlock() })
		wantIn(t, time.Second, time.Second, func() {
			_, _, err := w.client.Multi([]string{"k:1", "k:2"}, interlock.Wait(time.Second)).Lock(t.Context())
			wantErr(t, err, interlock.ErrContended)
		})
		wantFree(t, w.client.Mutex("k:1"))
		unlock(t, secondHold)
	}},
	{"when the engine fails for one lock, none is kept", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Err: engine.ErrFull, Key: "k:2"})
		_, _, err := w.client.Multi([]string{"k:1", "k:2", "k:3"}).Lock(t.Context())
		wantErr(t, err, interlock.ErrFull)
		w.engine.Heal()
		for _, k := range []string{"k:1", "k:2", "k:3"} {
			wantFree(t, w.another().Mutex(k))
		}
	}},
	{"an acquisition of several locks with a lost reply leaves nothing behind", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Key: "k:2"})
		_, _, err := w.client.Multi([]string{"k:1", "k:2"}).TryLock(t.Context())
		wantErr(t, err, interlock.ErrOutcomeUnknown)
		w.engine.Heal()
		w.client.Idle()
		for _, k := range []string{"k:1", "k:2"} {
			wantFree(t, w.another().Mutex(k))
		}
	}},
	{"losing one lock cancels the context of the Multi", func(t *testing.T, w *world) {
		for _, lost := range []string{"k:1", "k:2", "k:3"} {
			ctx, hold := lock(t, w.client.Multi([]string{"k:1", "k:2", "k:3"}))
			w.memory.Evict(lost)
			time.Sleep(lease)
			var why *interlock.LostError
			if !errors.As(context.Cause(ctx), &why) || why.Key != lost {
				t.Errorf("cause = %v, want a LostError for %s", context.Cause(ctx), lost)
			}
			wantErr(t, hold.Unlock(), interlock.ErrLost)
			w.client.Idle()
		}
	}},
	{"held locks are renewed while the Multi waits for the rest", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(time.Hour, func() { _ = otherHold.Unlock() })
		ctx, hold := lock(t, w.client.Multi([]string{"k:1", "k:2"}))
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
		unlock(t, hold)
	}},
	{"explicit leases of a Multi expire together", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(8*time.Second, func() { _ = otherHold.Unlock() })
		ctx, hold := lock(t, w.client.Multi([]string{"k:1", "k:2"}, interlock.Lease(10*time.Second)))
		wantIn(t, 9*time.Second, 10*time.Second, func() { <-ctx.Done() })
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"explicit leases are renewed while the Multi waits, and MaxHold counts from when all are held", func(t *testing.T, w *world) {
		for _, opt := range []interlock.Option{interlock.Lease(time.Second), interlock.MaxHold(time.Second)} {
			_, otherHold := lock(t, w.another().Mutex("k:2"))
			time.AfterFunc(time.Minute, func() { _ = otherHold.Unlock() })
			ctx, hold := lock(t, w.client.Multi([]string{"k:1", "k:2"}, opt))
			wantIn(t, 900*time.Millisecond, time.Second, func() { <-ctx.Done() })
			wantErr(t, hold.Unlock(), interlock.ErrLost)
			w.client.Idle()
		}
	}},
	{"leases that cannot be renewed together fail the Multi", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(5*time.Second, func() {
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Refuse})
			_ = otherHold.Unlock()
		})
		_, _, err := w.client.Multi([]string{"k:1", "k:2"}, interlock.Lease(10*time.Second)).Lock(t.Context())
		wantErr(t, err, interlock.ErrUnavailable)
		w.engine.Heal()
		w.client.Idle()
		wantFree(t, w.another().Mutex("k:1"))
		wantFree(t, w.another().Mutex("k:2"))
	}},
	{"losing one lock before all are held is reported as a loss", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(5*time.Second, func() {
			w.memory.Evict("k:1")
			_ = otherHold.Unlock()
		})
		_, _, err := w.client.Multi([]string{"k:1", "k:2"}, interlock.Lease(10*time.Second)).Lock(t.Context())
		wantErr(t, err, interlock.ErrLost)
		wantErr(t, err, interlock.ErrNotHolder)
	}},
	{"losing one lock while waiting for another is reported as a loss", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(time.Second, func() { w.memory.Evict("k:1") })
		_, _, err := w.client.Multi([]string{"k:1", "k:2"}).Lock(t.Context())
		wantErr(t, err, interlock.ErrLost)
		unlock(t, otherHold)
	}},
	{"Wait bounds the first attempt, too", func(t *testing.T, w *world) {
		for _, do := range []enginetest.Action{enginetest.Refuse, enginetest.Hang} {
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: do})
			wantIn(t, 0, 100*time.Millisecond, func() {
				if _, _, err := w.client.Multi([]string{"k:1", "k:2"}, interlock.Wait(100*time.Millisecond)).Lock(t.Context()); err == nil {
					t.Error("Lock succeeded although the engine is down")
				}
			})
			w.engine.Heal()
		}
	}},
	{"a trace that panics does not keep a Multi from its locks", func(t *testing.T, w *world) {
		m := w.another(interlock.WithTrace(panickingTrace())).Multi([]string{"k:1", "k:2", "k:3"})
		_, hold := lock(t, m)
		for _, k := range []string{"k:1", "k:2", "k:3"} {
			wantBusy(t, w.client.Mutex(k))
		}
		unlock(t, hold)
		for _, k := range []string{"k:1", "k:2", "k:3"} {
			wantFree(t, w.client.Mutex(k))
		}
	}},
	{"Left of a Multi is the time left of the lock that expires first", func(t *testing.T, w *world) {
		_, otherHold := lock(t, w.another().Mutex("k:2"))
		time.AfterFunc(time.Second, func() { _ = otherHold.Unlock() })
		_, hold := lock(t, w.client.Multi([]string{"k:1", "k:2"})) // the first is a second older
		if left := hold.Left(); left > lease-time.Second {
			t.Errorf("Left() = %v, want at most that of the first lock", left)
		}
		if firstLeft, secondLeft := hold.Parts()[0].Left(), hold.Parts()[1].Left(); hold.Left() > min(firstLeft, secondLeft) {
			t.Errorf("Left() = %v, want at most that of either part, %v and %v", hold.Left(), firstLeft, secondLeft)
		}
		unlock(t, hold)
	}},
	{"a Multi re-enters a lock that its context holds, if it is Reentrant", func(t *testing.T, w *world) {
		ctx, outer := lock(t, w.client.Mutex("k:2"))
		_, _, err := w.client.Multi([]string{"k:1", "k:2"}).Lock(ctx)
		var busy *interlock.ContendedError
		if !errors.As(err, &busy) || !busy.Self {
			t.Errorf("Lock = %v, want a ContendedError with Self", err)
		}
		wantFree(t, w.another().Mutex("k:1"))
		m := w.client.Multi([]string{"k:1", "k:2"}, interlock.Reentrant())
		_, inner := lockUnder(t, ctx, m)
		unlock(t, inner)
		if _, inner, err = m.TryLock(ctx); err != nil {
			t.Fatal(err)
		}
		unlock(t, inner)
		wantBusy(t, w.another().Mutex("k:2"))
		unlock(t, outer)
	}},
	{"a client closed during an acquisition keeps no lock of the Multi", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: time.Second})
		failed := make(chan error)
		go func() {
			_, _, err := w.client.Multi([]string{"k:1", "k:2"}).Lock(t.Context())
			failed <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go wantIn(t, time.Second, time.Second, func() { closed <- w.client.Close(t.Context()) })
		wantErr(t, <-failed, interlock.ErrClosed)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		w.engine.Heal()
		wantFree(t, w.another().Mutex("k:1"))
		wantFree(t, w.another().Mutex("k:2"))
	}},
	{"a request for one lock of a Multi is answered when that lock is granted", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 10 * time.Second, Key: "k:1"})
		a := newArrivals(t)
		a.arrive(t.Context(), 1, w.client.Multi([]string{"k:1", "k:2"}))
		wantIn(t, 0, 0, func() { wantBusy(t, w.client.Mutex("k:2")) })
		a.want(1, 1)
	}},
	{"a panic releases all locks and is passed on", func(t *testing.T, w *world) {
		func() {
			defer func() {
				if recover() != "boom" {
					t.Error("the panic was swallowed")
				}
			}()
			_ = w.client.Multi([]string{"k:1", "k:2"}).Do(t.Context(), func(context.Context) error { panic("boom") })
		}()
		wantFree(t, w.another().Mutex("k:1"))
		wantFree(t, w.another().Mutex("k:2"))
	}},
	{"Call with a nil Multi runs without a lock", func(t *testing.T, w *world) {
		var none *interlock.Multi
		if v, err := interlock.Call(t.Context(), none, func(context.Context) (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Errorf("Call = %d, %v; want 7, nil", v, err)
		}
	}},
}
