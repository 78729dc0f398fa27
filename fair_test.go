package interlock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// arrivals starts waiters one after the other, and records the order in which they
// are granted the lock.
type arrivals struct {
	t    *testing.T
	done chan struct{} // receives one value per waiter that has ended

	mu     sync.Mutex
	served []int
}

func newArrivals(t *testing.T) *arrivals { return &arrivals{t: t, done: make(chan struct{}, 1000)} }

// arrive starts the i-th waiter for m, and returns when it waits. The waiter holds
// the lock for a millisecond.
func (a *arrivals) arrive(ctx context.Context, i int, m interlock.Locker) {
	go func() {
		defer func() { a.done <- struct{}{} }()
		_, hold, err := m.Lock(ctx)
		if err != nil {
			return
		}
		a.mu.Lock()
		a.served = append(a.served, i)
		a.mu.Unlock()
		time.Sleep(time.Millisecond)
		if err := hold.Unlock(); err != nil {
			a.t.Errorf("Unlock of waiter %d = %v, want nil", i, err)
		}
	}()
	synctest.Wait()
}

// want waits for the waiters to end, and checks the order of their grants.
func (a *arrivals) want(n int, served ...int) {
	a.t.Helper()
	for range n {
		<-a.done
	}
	if !slices.Equal(a.served, served) {
		a.t.Errorf("served %v, want %v", a.served, served)
	}
}

// Requirements T1, T14: fair locks are granted in order of arrival across processes.
var fairLaws = []law{
	{"waiters are served in order of arrival across processes (T14)", func(t *testing.T, w *world) {
		clients := []*interlock.Client{w.client, w.another(), w.another()}
		_, hold := lock(t, w.another().Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		var want []int
		for i := range 30 {
			a.arrive(t.Context(), i, clients[i%3].Mutex("k:1", interlock.Fair()))
			want = append(want, i)
		}
		unlock(t, hold)
		a.want(30, want...)
	}},
	{"a waiter for a fair lock is woken by a notification, not by a poll", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		for i := range 10 {
			a.arrive(t.Context(), i, w.another().Mutex("k:1", interlock.Fair()))
		}
		unlock(t, hold)
		wantIn(t, 10*time.Millisecond, 11*time.Millisecond, func() { a.want(10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) })
	}},
	{"a lost notification costs one second at most, and no queue position", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		for i := range 3 {
			a.arrive(t.Context(), i, w.another().Mutex("k:1", interlock.Fair()))
		}
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		unlock(t, hold)
		wantIn(t, 0, 4*time.Second, func() { a.want(3, 0, 1, 2) })
	}},
	{"a patient waiter keeps its queue position", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair()))
		time.Sleep(time.Minute)
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		time.Sleep(time.Minute)
		unlock(t, hold)
		a.want(2, 0, 1)
	}},
	{"a waiter that polls seldom keeps its queue position", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a, seldom := newArrivals(t), interlock.Poll(func(int) time.Duration { return time.Minute })
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair(), seldom))
		time.Sleep(4 * time.Second)
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		time.Sleep(20 * time.Second)
		unlock(t, hold)
		a.want(2, 0, 1)
	}},
	{"a dead waiter delays the waiters behind it by 5 seconds at most", func(t *testing.T, w *world) {
		dead := enginetest.NewFaulty(w.memory)
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a, ctx := newArrivals(t), t.Context()
		cut, cancel := context.WithCancel(ctx)
		a.arrive(cut, 0, w.on(dead).Mutex("k:1", interlock.Fair()))
		a.arrive(ctx, 1, w.client.Mutex("k:1", interlock.Fair()))
		dead.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		dead.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		cancel()
		unlock(t, hold)
		wantIn(t, 3*time.Second, 5*time.Second+50*time.Millisecond, func() { a.want(2, 1) })
	}},
	{"a cancelled waiter leaves the queue and delays no other", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		cut, cancel := context.WithCancel(t.Context())
		a.arrive(cut, 0, w.another().Mutex("k:1", interlock.Fair()))
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		cancel()
		synctest.Wait()
		unlock(t, hold)
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(2, 1) })
	}},
	{"a waiter whose Wait has passed leaves the queue", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair(), interlock.Wait(time.Second)))
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		time.Sleep(2 * time.Second)
		unlock(t, hold)
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(2, 1) })
	}},
	{"a grant that arrives after its waiter gave up is passed on", func(t *testing.T, w *world) {
		slow := enginetest.NewFaulty(w.memory)
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		cut, cancel := context.WithCancel(t.Context())
		a.arrive(cut, 0, w.on(slow).Mutex("k:1", interlock.Fair()))
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		slow.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 100 * time.Millisecond})
		unlock(t, hold)
		synctest.Wait() // the first waiter was woken, and its request is on its way
		time.Sleep(50 * time.Millisecond)
		cancel()
		wantIn(t, 0, 60*time.Millisecond, func() { a.want(2, 1) })
		slow.Heal()
		slow.Wait()
		wantFree(t, w.client.Mutex("k:1", interlock.Fair()))
	}},
	{"a request whose reply was lost keeps one queue position", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply, Times: 2})
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair()))
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		time.Sleep(time.Second)
		if info, err := w.client.Inspect(t.Context(), "k:1"); err != nil || len(info.Waiters) != 2 {
			t.Errorf("Inspect returned %d waiters, error %v; want 2", len(info.Waiters), err)
		}
		unlock(t, hold)
		a.want(2, 0, 1)
	}},
	{"a waiter that gave back a late grant is still notified", func(t *testing.T, w *world) {
		slow := enginetest.NewFaulty(w.memory)
		c := w.on(slow, interlock.Watchdog(time.Second))
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		a.arrive(t.Context(), 0, c.Mutex("k:1", interlock.Fair()))
		slow.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: 990 * time.Millisecond, Times: 1})
		unlock(t, hold)
		_, hold = lock(t, w.client.Mutex("k:1", interlock.Fair())) // queued behind the waiter, and granted when the waiter gives its late grant back
		time.Sleep(3 * time.Second)
		slow.Wait()
		unlock(t, hold)
		wantIn(t, time.Millisecond, 2*time.Millisecond, func() { a.want(1, 0) })
	}},
	{"TryLock neither waits nor overtakes waiters", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair()))
		_, _, err := w.client.Mutex("k:1", interlock.Fair()).TryLock(t.Context())
		wantErr(t, err, interlock.ErrContended)
		unlock(t, hold)
		a.want(1, 0)
		wantFree(t, w.client.Mutex("k:1", interlock.Fair()))
	}},
	{"a waiter learns how many are ahead", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		for i := range 4 {
			a.arrive(t.Context(), i, w.another().Mutex("k:1", interlock.Fair()))
		}
		_, _, err := w.client.Mutex("k:1", interlock.Fair(), interlock.Wait(time.Millisecond)).Lock(t.Context())
		var busy *interlock.ContendedError
		if !errors.As(err, &busy) || busy.Ahead != 4 {
			t.Errorf("Lock error = %v, want a ContendedError with Ahead = 4", err)
		}
		unlock(t, hold)
		a.want(4, 0, 1, 2, 3)
	}},
	{"a fair and a plain lock of one key are the same lock", func(t *testing.T, w *world) {
		_, fair := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, fair)
		_, plain := lock(t, w.client.Mutex("k:1"))
		wantBusy(t, w.another().Mutex("k:1", interlock.Fair()))
		unlock(t, plain)
	}},
	{"a fair lock is reentrant under its context", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Fair(), interlock.Reentrant())
		ctx, outer := lock(t, m)
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair()))
		_, inner := lockUnder(t, ctx, m)
		unlock(t, inner)
		unlock(t, outer)
		a.want(1, 0)
	}},
	{"a named owner enters its fair lock from another process, and the engine counts two (T2)", func(t *testing.T, w *world) {
		ctx := interlock.WithOwner(t.Context(), "order-42")
		_, first := lockUnder(t, ctx, w.client.Mutex("k:1", interlock.Fair()))
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair()))
		_, second := lockUnder(t, ctx, w.another().Mutex("k:1", interlock.Fair()))
		if info, err := w.client.Inspect(t.Context(), "k:1"); err != nil || len(info.Holders) != 1 || info.Holders[0].Count != 2 {
			t.Errorf("Inspect = %+v, error %v; want one holder with a count of 2", info, err)
		}
		unlock(t, first)
		unlock(t, second)
		a.want(1, 0)
	}},
	{"a client's clock does not change the order", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		fast := w.another()
		fast.StepWall(time.Hour)
		a := newArrivals(t)
		a.arrive(t.Context(), 0, w.another().Mutex("k:1", interlock.Fair()))
		a.arrive(t.Context(), 1, fast.Mutex("k:1", interlock.Fair()))
		a.arrive(t.Context(), 2, w.another().Mutex("k:1", interlock.Fair()))
		time.Sleep(10 * time.Second)
		unlock(t, hold)
		a.want(3, 0, 1, 2)
	}},
	{"closing the client ends the wait and gives up queue positions", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		leaving, a := w.another(), newArrivals(t)
		a.arrive(t.Context(), 0, leaving.Mutex("k:1", interlock.Fair()))
		a.arrive(t.Context(), 1, w.another().Mutex("k:1", interlock.Fair()))
		if err := leaving.Close(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, hold)
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(2, 1) })
	}},
	{"a fair lock is renewed and lost like any other", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1", interlock.Fair()))
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatalf("the lock was lost although it was renewed: %v", context.Cause(ctx))
		}
		w.memory.Evict("k:1")
		time.Sleep(lease)
		wantErr(t, context.Cause(ctx), interlock.ErrNotHolder)
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"an engine without fair locks is reported when one is acquired", func(t *testing.T, w *world) {
		m := w.on(plainOnly{w.engine}).Mutex("k:1", interlock.Fair())
		_, _, err := m.Lock(t.Context())
		wantErr(t, err, errors.ErrUnsupported)
	}},
}
