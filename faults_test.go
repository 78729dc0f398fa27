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
	{"an acquisition whose reply was lost is recognised when repeated", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Times: 2})
		_, hold := lock(t, w.client.Mutex("k:1"))
		if n := w.engine.Calls(enginetest.OpAcquire); n != 3 {
			t.Errorf("the engine was asked %d times, want 3", n)
		}
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"an acquisition without an answer is undone, and its error says so", func(t *testing.T, w *world) {
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
	{"clean-up is retried until the engine answers", func(t *testing.T, w *world) {
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
	{"an engine that fails for a moment is retried", func(t *testing.T, w *world) {
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
				t.Error("an outage is reported as contention")
			}
		})
		wantIn(t, time.Second, 2*time.Second, func() {
			_, _, err := w.client.Mutex("k:1").TryLock(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
	}},
	{"in an outage, queued waiters give up when the leader does", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, 3*time.Second, 5*time.Second, func() {
			together(20, func(int) {
				if _, _, err := w.client.Mutex("k:1").Lock(t.Context()); !errors.Is(err, interlock.ErrUnavailable) {
					t.Errorf("Lock error = %v, want ErrUnavailable", err)
				}
			})
		})
	}},
	{"in an outage, a single attempt gives up before the leader that it waits behind", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		go func() { _, _, _ = w.client.Mutex("k:1").Lock(t.Context()) }()
		synctest.Wait()
		wantIn(t, time.Second, 2*time.Second, func() {
			_, _, err := w.client.Mutex("k:1").TryLock(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
		time.Sleep(5 * time.Second)
	}},
	{"a single attempt does not fail because its leader is cancelled", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Hang, Times: 1})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _, _ = w.client.Mutex("k:1").Lock(ctx) }()
		synctest.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, hold, err := w.client.Mutex("k:1").TryLock(t.Context())
			if err != nil {
				t.Errorf("TryLock = %v, want the free lock", err)
				return
			}
			unlock(t, hold)
		}()
		synctest.Wait()
		cancel()
		<-done
	}},
	{"a lock without a known holder is not contended", func(t *testing.T, w *world) {
		e := unsent{w.engine}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := w.on(e).Mutex("k:1").Lock(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		if errors.Is(err, interlock.ErrContended) {
			t.Errorf("Lock error = %v, want none that matches ErrContended: the lock is free", err)
		}
	}},
	{"a request that arrives after its retry was released is not granted", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Hang, Times: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var first engine.Request
		e := &recorded{Engine: w.engine, first: &first}
		time.AfterFunc(time.Millisecond, w.engine.Heal) // the hanging request fails and is retried
		_, hold, err := w.on(e).Mutex("k:1").Lock(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, hold)
		for _, c := range w.clients {
			c.Idle()
		}
		if _, err := w.memory.Acquire(t.Context(), first); !errors.Is(err, engine.ErrAbandoned) {
			t.Errorf("the late request got error %v, want ErrAbandoned", err)
		}
	}},
	{"a panicking Backoff or Trace does not block the key", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _, _ = w.client.Mutex("k:1", interlock.Poll(func(int) time.Duration { panic("a bug of the caller's") })).Lock(t.Context())
		}()
		unlock(t, hold)
		wantFree(t, w.client.Mutex("k:1", interlock.Wait(time.Second)))
		w.panicked = true
	}},
	{"a waiter that gives up during an outage gets ErrUnavailable", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, 200*time.Millisecond, 200*time.Millisecond, func() {
			_, _, err := w.client.Mutex("k:1", interlock.Wait(200*time.Millisecond)).Lock(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
	}},
	{"a failing engine is not retried in a hot loop", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		_, _, _ = w.client.Mutex("k:1").Lock(t.Context())
		if n := w.engine.Calls(enginetest.OpAcquire); n < 3 || n > 20 {
			t.Errorf("the engine was asked %d times in 5 s, want 3 to 20", n)
		}
	}},
	{"an error that a retry cannot fix is returned at once", func(t *testing.T, w *world) {
		for _, cause := range []error{interlock.ErrFull, interlock.ErrKind} {
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Err: cause, Times: 1})
			wantIn(t, 0, 0, func() {
				_, _, err := w.client.Mutex("k:1").Lock(t.Context())
				wantErr(t, err, cause)
			})
		}
	}},
	{"a release whose reply was lost is repeated, and a free lock counts as released", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.LoseReply, Times: 1})
		unlock(t, hold)
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a failed release is no failure of the work, but is counted (L4)", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		wantIn(t, 0, 2*time.Second, func() {
			if err := w.client.Mutex("k:1").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Errorf("Do = %v, want nil", err)
			}
		})
		if n := w.client.Stats().ReleaseFailed; n != 1 {
			t.Errorf("%d failed releases counted, want 1", n)
		}
		_, hold := lock(t, w.client.Mutex("k:2"))
		wantErr(t, hold.Unlock(), interlock.ErrUnavailable)
	}},
	{"Unlock takes two seconds at most although the engine hangs", func(t *testing.T, w *world) {
		e := hanging{w.engine, time.Minute}
		_, hold, err := w.on(e).Mutex("k:1").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantIn(t, 1900*time.Millisecond, 2*time.Second, func() { wantErr(t, hold.Unlock(), interlock.ErrOutcomeUnknown) })
	}},
	{"a failed release is counted even if its caller was cancelled (L4)", func(t *testing.T, w *world) {
		for range 300 { // in most rounds the cancellation and the release coincide
			_, hold := lock(t, w.client.Mutex("k:1"))
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan *interlock.Hold, 1)
			go func() {
				_, hold, _ := w.client.Mutex("k:1").Lock(ctx)
				left <- hold
			}()
			synctest.Wait()
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
			before := w.client.Stats().ReleaseFailed
			cancel()
			_ = hold.Unlock()
			if ownHold := <-left; ownHold != nil {
				_ = ownHold.Unlock()
			}
			w.client.Idle()
			if n := w.client.Stats().ReleaseFailed - before; n != 1 {
				t.Fatalf("%d failed releases counted, want 1", n)
			}
			w.engine.Heal()
			w.memory.Evict("k:1")
		}
	}},
	{"Unlock takes two seconds at most although it renews for the next waiter", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Lease(time.Minute))
		_, hold := lock(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, hold, err := m.Lock(ctx); err == nil {
				_ = hold.Unlock()
			}
		}()
		synctest.Wait()
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Hang})
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Hang})
		wantIn(t, 1900*time.Millisecond, 2*time.Second, func() { _ = hold.Unlock() })
		cancel()
		w.engine.Heal()
		<-done
	}},
	{"a grant that took most of its lease to arrive is given back", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 950 * time.Millisecond, Times: 1})
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Lease(time.Second)))
		if left := hold.Left(); left < 900*time.Millisecond {
			t.Errorf("Left() = %v, want at least 900ms", left)
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
	{"concurrent single attempts learn of an outage from one request", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		wantIn(t, time.Second, 2*time.Second, func() {
			together(100, func(int) {
				if _, _, err := w.client.Mutex("k:1").TryLock(t.Context()); !errors.Is(err, interlock.ErrUnavailable) {
					t.Errorf("TryLock error = %v, want ErrUnavailable", err)
				}
			})
		})
		synctest.Wait()
		if n := w.client.Queues(); n != 0 {
			t.Errorf("%d local queues are left, want none", n)
		}
	}},
}

// unsent is an engine that cannot be reached until the caller gives up.
type unsent struct{ engine.Engine }

func (unsent) Acquire(ctx context.Context, _ engine.Request) (engine.Grant, error) {
	<-ctx.Done()
	return engine.Grant{}, ctx.Err()
}

// recorded is an engine that remembers the first request.
type recorded struct {
	engine.Engine
	first *engine.Request
}

func (r *recorded) Acquire(ctx context.Context, req engine.Request) (engine.Grant, error) {
	if r.first.Key == "" {
		*r.first = req
	}
	return r.Engine.Acquire(ctx, req)
}

// hanging is an engine that answers a release only at its own timeout.
type hanging struct {
	engine.Engine
	bound time.Duration
}

func (h hanging) Release(ctx context.Context, _ engine.Request) (engine.ReleaseResult, error) {
	select {
	case <-time.After(h.bound):
	case <-ctx.Done():
	}
	return engine.ReleaseResult{}, fmt.Errorf("%w: no answer", engine.ErrUnknown)
}
