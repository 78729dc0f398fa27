package interlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// Each caller's own options decide its answer, even if the leader of its local queue has
// other options. An outage is not reported as a holder.
var termsLaws = []law{
	{"a waiter behind the leader gets ErrUnavailable during an outage", func(t *testing.T, w *world) {
		for _, do := range []enginetest.Action{enginetest.Refuse, enginetest.Hang, enginetest.LoseReply} {
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: do})
			lead := inBackground(t, w.client.Mutex("k:1"))
			wantUnavailable(t, w.client.Mutex("k:1", interlock.Wait(200*time.Millisecond)))
			w.engine.Heal()
			lead.end()
		}
	}},
	{"a waiter whose context ends during an outage gets no ErrContended", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		lead := inBackground(t, w.client.Mutex("k:1"))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, _, err := w.client.Mutex("k:1").Lock(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, interlock.ErrUnavailable)
		if errors.Is(err, interlock.ErrContended) {
			t.Errorf("Lock error = %v, want none that matches ErrContended: the lock is free", err)
		}
		w.engine.Heal()
		lead.end()
	}},
	{"the text of an error has a hash of the holder's id, and not the id", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		busy := wantBusy(t, w.another().Mutex("k:1"))
		at := &engine.BusyError{Holder: hold.Holder()}
		for _, text := range []string{busy.Error(), at.Error()} {
			if strings.Contains(text, hold.Holder()) || !strings.Contains(text, engine.ShortHolder(hold.Holder())) {
				t.Errorf("the error is %q, want a hash of the holder in it", text)
			}
		}
		unlock(t, hold)
	}},
	{"a fallback for a contended lock does not hide an outage", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		lead := inBackground(t, w.client.Mutex("k:1"))
		v, err := interlock.Call(t.Context(), w.client.Mutex("k:1", interlock.Wait(200*time.Millisecond)),
			func(context.Context) (string, error) { return "work", nil }, interlock.OrValue("fallback"))
		if v != "" || !errors.Is(err, interlock.ErrUnavailable) {
			t.Errorf("Call = %q, %v; want ErrUnavailable", v, err)
		}
		w.engine.Heal()
		lead.end()
	}},
	{"a holder seen before an outage is not reported during it", func(t *testing.T, w *world) {
		for _, do := range []enginetest.Action{enginetest.Refuse, enginetest.Hang} {
			_, hold := lock(t, w.another().Mutex("k:1"))
			lead := inBackground(t, w.client.Mutex("k:1", interlock.Wait(4*time.Second)))
			w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: do})
			wantUnavailable(t, w.client.Mutex("k:1", interlock.Wait(3*time.Second)))
			<-lead.done
			if err := lead.err; !errors.Is(err, interlock.ErrUnavailable) && !errors.Is(err, interlock.ErrOutcomeUnknown) || errors.Is(err, interlock.ErrContended) {
				t.Errorf("the leader got %v, want ErrUnavailable", err)
			}
			w.engine.Heal()
			unlock(t, hold)
		}
	}},
	{"a waiter that gives up in a busy local queue is contended", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 10 * time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		for range 50 {
			go func() {
				for ctx.Err() == nil {
					if _, hold, err := w.client.Mutex("k:1").Lock(ctx); err == nil {
						_ = hold.Unlock()
					}
				}
			}()
		}
		time.Sleep(100 * time.Millisecond)
		for wait := range 50 { // most of them end while the leader has no answer
			_, hold, err := w.client.Mutex("k:1", interlock.Wait(5*time.Millisecond+time.Duration(wait)*100*time.Microsecond)).Lock(t.Context())
			if err != nil {
				wantErr(t, err, interlock.ErrContended)
				continue
			}
			_ = hold.Unlock()
		}
		cancel()
		synctest.Wait()
	}},
	{"a single attempt ahead does not shorten the time that Lock retries a failing engine", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		go func() { _, _, _ = w.client.Mutex("k:1").TryLock(t.Context()) }()
		time.Sleep(1200 * time.Millisecond)
		time.AfterFunc(3*time.Second, w.engine.Heal)
		_, hold := lock(t, w.client.Mutex("k:1"))
		unlock(t, hold)
	}},
	{"a single attempt ahead does not shorten the time that a later single attempt retries", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		go func() { _, _, _ = w.client.Mutex("k:1").TryLock(t.Context()) }()
		time.Sleep(1200 * time.Millisecond)
		time.AfterFunc(900*time.Millisecond, w.engine.Heal)
		_, hold, err := w.client.Mutex("k:1").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, hold)
	}},
	{"a lease too short for the engine neither fails nor delays callers with a longer one", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 11500 * time.Microsecond})
		short := inBackground(t, w.client.Mutex("k:1", interlock.Lease(12*time.Millisecond)))
		wantIn(t, 11*time.Millisecond, 200*time.Millisecond, func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			unlock(t, hold)
		})
		wantIn(t, 11*time.Millisecond, 200*time.Millisecond, func() {
			_, hold, err := w.client.Mutex("k:1").TryLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, hold)
		})
		<-short.done
		wantErr(t, short.err, interlock.ErrUnavailable)
	}},
	{"a waiter behind a leader that polls is notified", func(t *testing.T, w *world) {
		slow := interlock.Poll(func(int) time.Duration { return 8 * time.Second })
		_, hold := lock(t, w.another().Mutex("k:1"))
		lead := inBackground(t, w.client.Mutex("k:1", slow))
		time.AfterFunc(100*time.Millisecond, func() { _ = hold.Unlock() })
		wantIn(t, 100*time.Millisecond, 200*time.Millisecond, func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			unlock(t, hold)
		})
		lead.end()
	}},
	{"a waiter that polls often does not wait for a leader that polls rarely", func(t *testing.T, w *world) {
		every := func(d time.Duration) interlock.Option {
			return interlock.Poll(func(int) time.Duration { return d })
		}
		_, hold := lock(t, w.another().Mutex("k:1"))
		lead := inBackground(t, w.client.Mutex("k:1", every(8*time.Second)))
		time.AfterFunc(100*time.Millisecond, func() { _ = hold.Unlock() })
		before := w.engine.Calls(enginetest.OpAcquire)
		wantIn(t, 100*time.Millisecond, 130*time.Millisecond, func() {
			together(20, func(int) {
				_, hold := lock(t, w.client.Mutex("k:1", every(20*time.Millisecond)))
				unlock(t, hold)
			})
		})
		if n := w.engine.Calls(enginetest.OpAcquire) - before; n > 12 {
			t.Errorf("%d requests for 20 waiters in 100 ms, want as many as one of them would send", n)
		}
		lead.end()
	}},
	{"a single attempt behind a leader that polls makes the leader ask at once", func(t *testing.T, w *world) {
		slow := interlock.Poll(func(int) time.Duration { return 8 * time.Second })
		_, hold := lock(t, w.another().Mutex("k:1"))
		lead := inBackground(t, w.client.Mutex("k:1", slow))
		unlock(t, hold) // which the leader will not see for eight seconds
		wantIn(t, 0, time.Millisecond, func() {
			if busy := wantBusy(t, w.client.Mutex("k:1")); busy.Holder == hold.Holder() {
				t.Error("the error names a holder that has released the lock")
			}
		})
		wantIn(t, 0, time.Millisecond, lead.end) // the leader was first, and has it
		wantFree(t, w.client.Mutex("k:1"))
	}},
	{"single attempts do not change the pauses of a leader that polls", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		calls := 0
		lead := inBackground(t, w.client.Mutex("k:1", interlock.Poll(func(n int) time.Duration {
			if calls++; n != calls {
				t.Errorf("Backoff got %d tries for pause %d", n, calls)
			}
			return time.Second
		})))
		for range 20 {
			wantBusy(t, w.client.Mutex("k:1"))
		}
		if calls != 1 {
			t.Errorf("the leader paused %d times during 20 single attempts, want once", calls)
		}
		unlock(t, hold)
		lead.end()
	}},
	{"a queued waiter whose Backoff panics does not block the key", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
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
	}},
}

// An acquisition runs in the background, and releases the lock at once.
type acquisition struct {
	t    *testing.T
	done chan struct{} // closed when err is set
	err  error
}

// inBackground starts to acquire a lock, and returns when that goroutine is blocked or
// has ended.
func inBackground(t *testing.T, m interlock.Locker) *acquisition {
	a := &acquisition{t: t, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		var hold *interlock.Hold
		if _, hold, a.err = m.Lock(t.Context()); a.err == nil {
			_ = hold.Unlock()
		}
	}()
	synctest.Wait()
	return a
}

// end waits until the lock was acquired and released.
func (a *acquisition) end() {
	a.t.Helper()
	<-a.done
	if a.err != nil {
		a.t.Fatal(a.err)
	}
}

// wantUnavailable checks that Lock fails because of an outage, and not because of a
// holder.
func wantUnavailable(t *testing.T, m interlock.Locker) {
	t.Helper()
	_, _, err := m.Lock(t.Context())
	wantErr(t, err, interlock.ErrUnavailable)
	if errors.Is(err, interlock.ErrContended) {
		t.Errorf("Lock error = %v, want none that matches ErrContended", err)
	}
}
