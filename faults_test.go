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

var faultLaws = []law{
	{"an acquisition whose answer is lost is recognised when it asks again", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Times: 2})
		_, hold := lock(t, w.client.Mutex("k:1"))
		if n := w.engine.Calls(enginetest.OpAcquire); n != 3 {
			t.Errorf("asked %d times, want 3", n)
		}
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"an acquisition that is never answered is undone, and its error says so", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply})
		wantIn(t, time.Second, 5*time.Second, func() {
			_, _, err := w.client.Mutex("k:1").Lock(t.Context())
			wantErr(t, err, interlock.ErrOutcomeUnknown)
		})
		w.engine.Heal()
		w.client.Idle()
		wantFree(t, w.another().Mutex("k:1"))
		if n := w.client.Stats().CleanedUp; n != 1 {
			t.Errorf("%d clean-ups counted, want 1", n)
		}
	}},
	{"clean-up does not depend on the caller's context", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, _, err := w.client.Mutex("k:1").Lock(ctx)
		wantErr(t, err, interlock.ErrOutcomeUnknown)
		wantErr(t, err, context.DeadlineExceeded)
		w.engine.Heal()
		w.client.Idle()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"an acquisition that arrives after its clean-up is not granted", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 5 * time.Second, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := w.client.Mutex("k:1").Lock(ctx)
		wantErr(t, err, interlock.ErrOutcomeUnknown)
		w.engine.Wait()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"clean-up goes on until the engine answers", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAbandon, Do: enginetest.Refuse, Times: 5})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, _, err := w.client.Mutex("k:1").Lock(ctx)
		wantErr(t, err, interlock.ErrOutcomeUnknown)
		w.client.Idle()
		w.engine.Heal()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"an engine that is down for a moment is asked again", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		time.AfterFunc(2*time.Second, w.engine.Heal)
		wantIn(t, 2*time.Second, 3*time.Second, func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			unlock(t, hold)
		})
	}},
	{"an engine that stays down is reported, within seconds", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, 3*time.Second, 5*time.Second, func() {
			_, _, err := w.client.Mutex("k:1").Lock(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
			if errors.Is(err, interlock.ErrContended) {
				t.Error("down is not held")
			}
		})
		wantIn(t, time.Second, 2*time.Second, func() {
			_, _, err := w.client.Mutex("k:1").TryLock(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
	}},
	{"who stops waiting while the engine is down is told that it was", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, 200*time.Millisecond, 200*time.Millisecond, func() {
			_, _, err := w.client.Mutex("k:1", interlock.Wait(200*time.Millisecond)).Lock(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
	}},
	{"an engine that is asked in vain is not asked in a hot loop", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		_, _, _ = w.client.Mutex("k:1").Lock(t.Context())
		if n := w.engine.Calls(enginetest.OpAcquire); n < 3 || n > 20 {
			t.Errorf("asked %d times in 5 s, want a few", n)
		}
	}},
	{"what asking again cannot mend is reported at once", func(t *testing.T, w *world) {
		for _, cause := range []error{interlock.ErrFull, interlock.ErrKind} {
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Err: cause, Times: 1})
			wantIn(t, 0, 0, func() {
				_, _, err := w.client.Mutex("k:1").Lock(t.Context())
				wantErr(t, err, cause)
			})
		}
	}},
	{"a release whose answer is lost is asked for again, and free counts as released", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.LoseReply, Times: 1})
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a failed release is no failure of the work, but is counted (L4)", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		wantIn(t, 0, 2*time.Second, func() {
			if err := w.client.Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Errorf("Do = %v", err)
			}
		})
		if n := w.client.Stats().ReleaseFailed; n != 1 {
			t.Errorf("%d failed releases counted, want 1", n)
		}
		_, hold := lock(t, w.client.Mutex("k:2"))
		wantErr(t, hold.Unlock(), interlock.ErrUnavailable)
	}},
	{"to unlock takes two seconds at most, though the engine hangs", func(t *testing.T, w *world) {
		e := hanging{w.engine, time.Minute}
		_, hold, err := w.on(e).Mutex("k:1").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantIn(t, 1900*time.Millisecond, 2*time.Second, func() { wantErr(t, hold.Unlock(), interlock.ErrOutcomeUnknown) })
	}},
	{"a failed release is counted even if nobody is left to be told (L4)", func(t *testing.T, w *world) {
		for range 300 { // most of them meet
			_, hold := lock(t, w.client.Mutex("k:1"))
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan *interlock.Hold, 1)
			go func() {
				_, mine, _ := w.client.Mutex("k:1").Lock(ctx)
				left <- mine
			}()
			synctest.Wait()
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
			before := w.client.Stats().ReleaseFailed
			cancel()
			_ = hold.Unlock()
			if mine := <-left; mine != nil {
				_ = mine.Unlock()
			}
			w.client.Idle()
			if n := w.client.Stats().ReleaseFailed - before; n != 1 {
				t.Fatalf("%d failed releases counted, want 1", n)
			}
			w.engine.Heal()
			w.memory.Evict("k:1")
		}
	}},
	{"a grant that took most of its lease to arrive is given back", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 950 * time.Millisecond, Times: 1})
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Lease(time.Second)))
		if left := hold.Left(); left < 900*time.Millisecond {
			t.Errorf("%v of the lease are left", left)
		}
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a call that is delivered twice enters once", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Duplicate, Times: 1})
		_, hold := lock(t, w.client.Mutex("k:1"))
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"everybody who asked once learns that the engine is down from one question", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, time.Second, 2*time.Second, func() {
			together(100, func(int) {
				if _, _, err := w.client.Mutex("k:1").TryLock(t.Context()); !errors.Is(err, interlock.ErrUnavailable) {
					t.Errorf("err = %v", err)
				}
			})
		})
		synctest.Wait()
		if n := w.client.Lines(); n != 0 {
			t.Errorf("%d lines are left", n)
		}
	}},
}

// hanging is an engine that does not answer a release for as long as its own
// bound allows.
type hanging struct {
	engine.Engine
	bound time.Duration
}

func (h hanging) Release(ctx context.Context, _ engine.Request) (engine.Parting, error) {
	select {
	case <-time.After(h.bound):
	case <-ctx.Done():
	}
	return engine.Parting{}, fmt.Errorf("%w: no answer", engine.ErrUnknown)
}
