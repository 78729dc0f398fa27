package interlock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// plainOnly is an engine with exclusive locks only.
type plainOnly struct{ engine.Engine }

func (plainOnly) Capabilities() engine.Capabilities { return engine.Capabilities{} }

// lastRequest is an engine that records the last request for a lock.
type lastRequest struct {
	engine.Engine
	last engine.Request
}

func (l *lastRequest) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	l.last = r
	return l.Engine.Acquire(ctx, r)
}

// Requirements T1, T14: readers share the lock, a writer is alone.
var rwmutexLaws = []law{
	{"readers share the lock, and a writer is alone", func(t *testing.T, w *world) {
		ownLock, otherLock := w.client.RWMutex("k:1"), w.another().RWMutex("k:1")
		_, firstHold := lock(t, ownLock.Read())
		_, secondHold := lock(t, otherLock.Read())
		wantBusy(t, otherLock.Write())
		unlock(t, firstHold)
		wantBusy(t, otherLock.Write())
		unlock(t, secondHold)
		_, writer := lock(t, ownLock.Write())
		wantBusy(t, otherLock.Read())
		wantBusy(t, otherLock.Write())
		unlock(t, writer)
		wantFree(t, otherLock.Write())
	}},
	{"goroutines of one process read together", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		wantIn(t, time.Second, time.Second, func() {
			together(20, func(int) {
				err := m.Read().Do(t.Context(), func(context.Context) error {
					time.Sleep(time.Second)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}},
	{"no reader overtakes a waiting writer", func(t *testing.T, w *world) {
		_, reading := lock(t, w.client.RWMutex("k:1").Read())
		a := newArrivals(t)
		a.arrive(t.Context(), 1, w.another().RWMutex("k:1").Write())
		a.arrive(t.Context(), 2, w.another().RWMutex("k:1").Read())
		wantBusy(t, w.client.RWMutex("k:1").Read())
		unlock(t, reading)
		a.want(2, 1, 2)
	}},
	{"no writer overtakes waiting readers", func(t *testing.T, w *world) {
		_, writing := lock(t, w.client.RWMutex("k:1").Write())
		a := newArrivals(t)
		a.arrive(t.Context(), 1, w.another().RWMutex("k:1").Read())
		a.arrive(t.Context(), 2, w.another().RWMutex("k:1").Write())
		wantBusy(t, w.client.RWMutex("k:1").Write())
		unlock(t, writing)
		a.want(2, 1, 2)
	}},
	{"waiting readers are granted together when the writer releases", func(t *testing.T, w *world) {
		_, writing := lock(t, w.client.RWMutex("k:1").Write())
		a := newArrivals(t)
		for i := range 10 {
			a.arrive(t.Context(), i, w.another().RWMutex("k:1").Read())
		}
		unlock(t, writing)
		start := time.Now()
		for range 10 {
			<-a.done
		}
		if d := time.Since(start); d > 2*time.Millisecond {
			t.Errorf("the readers ended after %v, want all of them within 2ms", d)
		}
	}},
	{"a dead waiting writer delays readers by 5 seconds at most", func(t *testing.T, w *world) {
		dead := enginetest.NewFaulty(w.memory)
		_, reading := lock(t, w.client.RWMutex("k:1").Read())
		a := newArrivals(t)
		cut, cancel := context.WithCancel(t.Context())
		a.arrive(cut, 1, w.on(dead).RWMutex("k:1").Write())
		dead.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse})
		dead.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		cancel()
		wantIn(t, 3*time.Second, 6*time.Second, func() {
			_, hold := lock(t, w.another().RWMutex("k:1").Read())
			unlock(t, hold)
		})
		unlock(t, reading)
		<-a.done
	}},
	{"a writer that gives up waiting lets readers in at once", func(t *testing.T, w *world) {
		_, reading := lock(t, w.client.RWMutex("k:1").Read())
		a := newArrivals(t)
		cut, cancel := context.WithCancel(t.Context())
		a.arrive(cut, 1, w.another().RWMutex("k:1").Write())
		a.arrive(t.Context(), 2, w.another().RWMutex("k:1").Read())
		cancel()
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(2, 2) })
		unlock(t, reading)
	}},
	{"a former reader may write under its old context", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		ctx, reading := lock(t, m.Read())
		unlock(t, reading)
		_, writing, err := m.Write().TryLock(context.WithoutCancel(ctx))
		wantErr(t, err, nil)
		unlock(t, writing)
	}},
	{"a reader that asks to write is refused at once with the reason", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		ctx, reading := lock(t, m.Read())
		calls := w.engine.Calls(enginetest.OpAcquire)
		wantIn(t, 0, 0, func() {
			_, _, err := m.Write().Lock(ctx)
			wantErr(t, err, interlock.ErrUpgrade)
		})
		if n := w.engine.Calls(enginetest.OpAcquire) - calls; n != 0 {
			t.Errorf("the engine was asked %d times, want never", n)
		}
		unlock(t, reading)
	}},
	{"a named owner that reads in one process cannot write in another", func(t *testing.T, w *world) {
		ctx := interlock.WithOwner(t.Context(), "order-42")
		_, reading := lockUnder(t, ctx, w.client.RWMutex("k:1").Read())
		_, _, err := w.another().RWMutex("k:1").Write().Lock(ctx)
		wantErr(t, err, interlock.ErrUpgrade)
		unlock(t, reading)
	}},
	{"a writer may read under its context, and other callers may not", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		ctx, writing := lock(t, m.Write())
		_, reading := lockUnder(t, ctx, m.Read())
		wantBusy(t, w.another().RWMutex("k:1").Read())
		unlock(t, reading)
		wantBusy(t, w.another().RWMutex("k:1").Read())
		unlock(t, writing)
		wantFree(t, w.another().RWMutex("k:1").Write())
	}},
	{"a downgrade admits no writer in between and wakes readers", func(t *testing.T, w *world) {
		_, writing := lock(t, w.client.RWMutex("k:1").Write())
		a := newArrivals(t)
		a.arrive(t.Context(), 1, w.another().RWMutex("k:1").Read())
		ctx, reading, err := writing.Downgrade()
		if err != nil {
			t.Fatal(err)
		}
		wantIn(t, 0, 2*time.Millisecond, func() { a.want(1, 1) })
		wantBusy(t, w.another().RWMutex("k:1").Write())
		time.Sleep(time.Hour) // the read hold is renewed
		if ctx.Err() != nil {
			t.Errorf("the reader's context ended: %v", context.Cause(ctx))
		}
		unlock(t, reading)
		wantErr(t, context.Cause(ctx), interlock.ErrReleased)
		wantFree(t, w.another().RWMutex("k:1").Write())
	}},
	{"a downgrade cancels the write context only after the read is granted", func(t *testing.T, w *world) {
		ctx, writing := lock(t, w.client.RWMutex("k:1").Write())
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Refuse, Err: engine.ErrFull, Times: 1})
		if _, _, err := writing.Downgrade(); err == nil || ctx.Err() != nil {
			t.Errorf("error %v, and the context is %v; want an error and a live context", err, ctx.Err())
		}
		_, reading, err := writing.Downgrade()
		if err != nil {
			t.Fatal(err)
		}
		wantErr(t, context.Cause(ctx), interlock.ErrReleased)
		unlock(t, reading)
	}},
	{"a write hold cannot be downgraded after Unlock, or twice", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		_, writing := lock(t, m.Write())
		unlock(t, writing)
		if _, _, err := writing.Downgrade(); err == nil {
			t.Error("a write hold was downgraded after Unlock")
		}
		_, writing = lock(t, m.Write())
		_, reading, err := writing.Downgrade()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := writing.Downgrade(); err == nil {
			t.Error("a write hold was downgraded twice")
		}
		unlock(t, writing) // has no effect
		wantBusy(t, w.another().RWMutex("k:1").Write())
		unlock(t, reading)
		wantFree(t, w.another().RWMutex("k:1").Write())
	}},
	{"a lost write hold cannot be downgraded", func(t *testing.T, w *world) {
		ctx, writing := lock(t, w.client.RWMutex("k:1", interlock.Lease(time.Second)).Write())
		<-ctx.Done()
		_, _, err := writing.Downgrade()
		wantErr(t, err, interlock.ErrLost)
	}},
	{"a downgrade whose release failed is cleaned up", func(t *testing.T, w *world) {
		_, writing := lock(t, w.client.RWMutex("k:1").Write())
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		_, reading, err := writing.Downgrade()
		if err != nil {
			t.Fatal(err)
		}
		w.client.Idle()
		wantFree(t, w.on(w.memory).RWMutex("k:1").Read())
		w.engine.Heal()
		unlock(t, reading)
	}},
	{"only a writer can downgrade", func(t *testing.T, w *world) {
		for _, m := range []interlock.Locker{w.client.Mutex("k:1"), w.client.RWMutex("k:2").Read(), w.client.Multi([]string{"k:3", "k:4"})} {
			_, hold := lock(t, m)
			if _, _, err := hold.Downgrade(); err == nil {
				t.Errorf("the hold of %q was downgraded, want an error", hold.Key())
			}
			unlock(t, hold)
		}
	}},
	{"with Reentrant, a reader may read again under its context, and a writer may write again", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1", interlock.Reentrant())
		for _, side := range []interlock.Locker{m.Read(), m.Write()} {
			ctx, outer := lock(t, side)
			_, inner := lockUnder(t, ctx, side)
			unlock(t, inner)
			unlock(t, outer)
			wantFree(t, w.another().RWMutex("k:1").Write())
		}
	}},
	{"without Reentrant a nested read fails at once", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		ctx, reading := lock(t, m.Read())
		if busy := func() *interlock.ContendedError {
			_, _, err := m.Read().Lock(ctx)
			busy, _ := err.(*interlock.ContendedError) //nolint:errorlint // exactly this
			return busy
		}(); busy == nil || !busy.Self {
			t.Errorf("Lock = %v, want a ContendedError with Self", busy)
		}
		unlock(t, reading)
	}},
	{"a dead reader blocks writers for its lease at most", func(t *testing.T, w *world) {
		dead := enginetest.NewFaulty(w.memory)
		crashed := w.on(dead, interlock.Watchdog(10*time.Second))
		_, _ = lock(t, crashed.RWMutex("k:1").Read())
		dead.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Refuse})
		_, reading := lock(t, w.client.RWMutex("k:1").Read())
		time.Sleep(20 * time.Second)
		unlock(t, reading)
		wantFree(t, w.another().RWMutex("k:1").Write())
	}},
	{"a plain lock and a read/write lock on one key refuse each other", func(t *testing.T, w *world) {
		_, plain := lock(t, w.client.Mutex("k:1"))
		for _, m := range []interlock.Locker{w.client.RWMutex("k:1").Read(), w.client.RWMutex("k:1").Write(), w.client.Semaphore("k:1", 2).Permit()} {
			_, _, err := m.Lock(t.Context())
			wantErr(t, err, interlock.ErrKind)
		}
		unlock(t, plain)
		_, reading := lock(t, w.client.RWMutex("k:1").Read())
		_, _, err := w.client.Mutex("k:1").Lock(t.Context())
		wantErr(t, err, interlock.ErrKind)
		unlock(t, reading)
	}},
	{"a thousand readers share a lock", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		var holds []*interlock.Hold
		for range engine.MaxReaders {
			_, hold := lock(t, m.Read())
			holds = append(holds, hold)
		}
		_, _, err := m.Read().Lock(t.Context())
		wantErr(t, err, interlock.ErrFull)
		for _, h := range holds {
			unlock(t, h)
		}
		wantFree(t, m.Write())
	}},
	{"fences of writers rise above those of earlier readers", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1", interlock.Fenced())
		var last uint64
		for i := range 10 {
			side := m.Write()
			if i%2 == 1 {
				side = m.Read()
			}
			_, hold := lock(t, side)
			if hold.Fence() <= last {
				t.Errorf("fence %d follows fence %d, want a higher one", hold.Fence(), last)
			}
			last = hold.Fence()
			unlock(t, hold)
		}
	}},
	{"the contexts of readers end separately", func(t *testing.T, w *world) {
		m := w.client.RWMutex("k:1")
		first, firstHold := lock(t, m.Read())
		second, secondHold := lock(t, m.Read())
		unlock(t, firstHold)
		if first.Err() == nil || second.Err() != nil {
			t.Errorf("the contexts' errors are %v and %v, want only the first context done", first.Err(), second.Err())
		}
		unlock(t, secondHold)
	}},
	{"the options of a lock reach the engine, whatever the kind", func(t *testing.T, w *world) {
		e := &lastRequest{Engine: w.engine}
		c := w.on(e, interlock.Fenced())
		for kind, m := range map[interlock.Kind]interlock.Locker{
			interlock.KindExclusive: c.Mutex("k:1"),
			interlock.KindFair:      c.Mutex("k:2", interlock.Fair()),
			interlock.KindRead:      c.RWMutex("k:3").Read(),
			interlock.KindWrite:     c.RWMutex("k:4").Write(),
			interlock.KindPermit:    c.Semaphore("k:5", 7).Permit(),
		} {
			_, hold := lock(t, m)
			r := e.last
			if r.Kind != kind || !r.Fenced || r.Lease != lease || (r.QueueLease > 0) != (kind != interlock.KindExclusive) ||
				(r.FenceReserve > 0) != (kind == interlock.KindExclusive) || (r.Limit == 7) != (kind == interlock.KindPermit) {
				t.Errorf("%s: the request is %+v, want the options of the lock", kind, r)
			}
			unlock(t, hold)
		}
	}},
	{"traces name the kind", func(t *testing.T, w *world) {
		var (
			mu  sync.Mutex
			got []string
		)
		note := func(what string, k interlock.Kind) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(what, " ", k))
		}
		c := w.another(interlock.WithTrace(&interlock.Trace{
			Acquired: func(e interlock.Acquired) { note("acquired", e.Kind) },
			Waiting:  func(e interlock.Waiting) { note("waiting", e.Kind) },
			Released: func(e interlock.Released) { note("released", e.Kind) },
		}))
		_, reading := lock(t, c.RWMutex("k:1").Read())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = c.RWMutex("k:1").Write().Do(t.Context(), func(context.Context) error { return nil })
		}()
		synctest.Wait()
		unlock(t, reading)
		<-done
		slices.Sort(got) // a release may be traced after the next acquisition
		if s, want := fmt.Sprint(got), "[acquired read acquired write released read released write waiting write]"; s != want {
			t.Errorf("the events are %s, want %s", s, want)
		}
	}},
}
