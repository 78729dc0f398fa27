package interlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
)

var localQueueLaws = []law{
	{"one goroutine of a process asks the engine", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		before := w.engine.Calls(enginetest.OpAcquire)
		for range 100 {
			go func() {
				if _, hold, err := w.client.Mutex("k:1").Lock(t.Context()); err == nil {
					_ = hold.Unlock()
				}
			}()
		}
		synctest.Wait()
		if n := w.engine.Calls(enginetest.OpAcquire) - before; n > 2 {
			t.Errorf("%d requests for 100 goroutines, want at most 2: the first, and one after the subscription", n)
		}
		if n := w.client.Stats().Waiting; n != 100 {
			t.Errorf("%d goroutines wait, want 100", n)
		}
		unlock(t, hold)
		time.Sleep(time.Second)
	}},
	{"a lock is handed over eight times in a row without asking the engine", func(t *testing.T, w *world) {
		const holders = 90
		before := w.engine.Calls(enginetest.OpAcquire, enginetest.OpRelease)
		together(holders, func(int) {
			_ = w.client.Mutex("k:1").Do(t.Context(), func(context.Context) error {
				time.Sleep(time.Millisecond)
				return nil
			})
		})
		calls := w.engine.Calls(enginetest.OpAcquire, enginetest.OpRelease) - before
		if calls != 2*holders/9 {
			t.Errorf("%d calls for %d holders, want %d", calls, holders, 2*holders/9)
		}
		if n := w.client.Stats().HandedOver; n != holders*8/9 {
			t.Errorf("%d locks were handed over, want %d", n, holders*8/9)
		}
	}},
	{"waiters are served in order of arrival", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		order := make(chan int, 30)
		for i := range 30 {
			go func() {
				_ = w.client.Mutex("k:1").Do(t.Context(), func(context.Context) error {
					order <- i
					return nil
				})
			}()
			synctest.Wait()
		}
		unlock(t, hold)
		for i := range 30 {
			if got := <-order; got != i {
				t.Errorf("waiter %d was served as number %d", got, i)
			}
		}
	}},
	{"each holder after a handover has its own, larger fence", func(t *testing.T, w *world) {
		otherClient := w.another()
		var last uint64
		check := func(hold *interlock.Hold) {
			if hold.Fence() <= last {
				t.Errorf("fence %d follows fence %d, want a higher one", hold.Fence(), last)
			}
			last = hold.Fence()
		}
		for range 5 {
			together(20, func(int) {
				_, hold := lock(t, w.client.Mutex("k:1", interlock.Fenced()))
				check(hold)
				time.Sleep(time.Millisecond) // so that the others queue
				unlock(t, hold)
			})
			_, hold := lock(t, otherClient.Mutex("k:1", interlock.Fenced()))
			check(hold)
			unlock(t, hold)
		}
	}},
	{"each holder after a handover has its own context", func(t *testing.T, w *world) {
		ctxs := make(chan context.Context, 10)
		together(9, func(int) {
			ctx, hold := lock(t, w.client.Mutex("k:1"))
			ctxs <- ctx
			unlock(t, hold)
		})
		close(ctxs)
		for ctx := range ctxs {
			if ctx.Err() == nil {
				t.Error("a context outlived its hold")
			}
		}
	}},
	{"another process gets its chance after nine holders", func(t *testing.T, w *world) {
		otherClient := w.another()
		stop := time.Now().Add(10 * time.Second)
		grants, otherGrants := 0, 0
		work := func(c *interlock.Client, n *int) {
			for time.Now().Before(stop) {
				_ = c.Mutex("k:1").Do(t.Context(), func(context.Context) error {
					time.Sleep(time.Millisecond)
					*n++
					return nil
				})
			}
		}
		together(40, func(i int) {
			if i%2 == 0 {
				work(w.client, &grants)
			} else {
				work(otherClient, &otherGrants)
			}
		})
		if grants == 0 || otherGrants == 0 || grants > 2*otherGrants || otherGrants > 2*grants {
			t.Errorf("one process held the lock %d times, the other %d times; want neither more than twice as often", grants, otherGrants)
		}
	}},
	{"a process that locks again at once does not overtake a waiting process", func(t *testing.T, w *world) {
		otherClient := w.another()
		for round := range 50 {
			_, hold := lock(t, w.client.Mutex("k:1"))
			order := make(chan string, 2)
			go func() {
				_, otherHold := lock(t, otherClient.Mutex("k:1"))
				order <- "other"
				unlock(t, otherHold)
			}()
			synctest.Wait() // the other process listens
			unlock(t, hold)
			_, again := lock(t, w.client.Mutex("k:1"))
			order <- "again"
			unlock(t, again)
			if first := <-order; first != "other" {
				t.Fatalf("round %d: the process that released the lock got it again first", round)
			}
			<-order
		}
	}},
	{"a near process does not starve a distant one", func(t *testing.T, w *world) {
		near := w.on(distant{w.engine, 50 * time.Microsecond}).Mutex("k:1")
		for _, callers := range []int{1, 8} {
			ctx, cancel := context.WithCancel(t.Context())
			var grants, refusedAt atomic.Int64
			var nearby sync.WaitGroup
			for range callers {
				nearby.Go(func() {
					for ctx.Err() == nil {
						_ = near.Do(ctx, func(context.Context) error { grants.Add(1); return nil })
					}
				})
			}
			far := w.on(distant{w.engine, 3 * time.Millisecond}, interlock.WithTrace(&interlock.Trace{
				Waiting: func(interlock.Waiting) { refusedAt.Store(grants.Load()) },
			})).Mutex("k:1")
			late := 0
			for range 100 {
				refusedAt.Store(-1)
				_, hold := lock(t, far)
				if at := refusedAt.Load(); at >= 0 && grants.Load()-at > 20 { // far more than its share
					late++
				}
				unlock(t, hold)
			}
			if late > 5 { // a few are late until the process knows that it is overtaken
				t.Errorf("%d callers: %d of 100 grants came after more than 20 of the near process", callers, late)
			}
			cancel()
			nearby.Wait()
		}
	}},
	{"a process that may not queue at the engine still gets its locks", func(t *testing.T, w *world) {
		refused, otherClient := w.on(unqueued{Engine: w.engine, err: errors.New("NOPERM")}), w.another()
		stop := time.Now().Add(time.Second)
		counts := make([]atomic.Int64, 2)
		together(8, func(i int) {
			m := []*interlock.Client{refused, otherClient}[i%2].Mutex("k:1")
			for time.Now().Before(stop) {
				if err := m.Do(t.Context(), func(context.Context) error { time.Sleep(time.Millisecond); return nil }); err != nil {
					t.Error(err)
				}
				counts[i%2].Add(1)
			}
		})
		if counts[0].Load() < 50 || counts[1].Load() < 50 {
			t.Errorf("the processes got %d and %d grants, want at least 50 each", counts[0].Load(), counts[1].Load())
		}
	}},
	{"a process queues for other keys although one key cannot be queued for", func(t *testing.T, w *world) {
		queued := new(atomic.Int64)
		refused, otherClient := w.on(unqueued{Engine: w.engine, err: engine.ErrKind, key: "k:1", queued: queued}), w.another()
		for _, key := range []string{"k:1", "k:2"} {
			stop := time.Now().Add(time.Second)
			together(8, func(i int) {
				m := []*interlock.Client{refused, otherClient}[i%2].Mutex(key)
				for time.Now().Before(stop) {
					if err := m.Do(t.Context(), func(context.Context) error { time.Sleep(time.Millisecond); return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if queued.Load() == 0 {
			t.Error("the process did not queue for the second key")
		}
	}},
	{"a waiter is counted once, in either queue", func(t *testing.T, w *world) {
		_, hold := lock(t, w.another().Mutex("k:1"))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _, _ = w.client.Mutex("k:1").Lock(ctx) }()
		synctest.Wait()
		got := make(chan *interlock.Hold, 1)
		go func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			got <- hold
		}()
		synctest.Wait()
		cancel() // the leader gives up, and the waiter behind it leads
		synctest.Wait()
		if n := w.client.Stats().Waiting; n != 1 {
			t.Errorf("%d goroutines wait, want 1", n)
		}
		unlock(t, hold)
		unlock(t, <-got)
	}},
	{"a lock with less than three quarters of its lease left is not handed over", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Watchdog(12*time.Second))
		_, hold := lock(t, m)
		got := make(chan *interlock.Hold, 1)
		go func() {
			_, hold := lock(t, m)
			got <- hold
		}()
		time.Sleep(3500 * time.Millisecond) // 8.5 s left, to be renewed at 4 s
		before := w.engine.Calls(enginetest.OpAcquire)
		unlock(t, hold)
		ownHold := <-got
		if w.engine.Calls(enginetest.OpAcquire) == before {
			t.Error("the lock was handed over without asking the engine")
		}
		if ownHold.Left() < 11*time.Second {
			t.Errorf("Left() = %v, want at least 11s", ownHold.Left())
		}
		unlock(t, ownHold)
	}},
	{"an explicit lease is renewed once for the next waiter", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Lease(12*time.Second))
		_, hold := lock(t, m)
		got := make(chan *interlock.Hold, 1)
		go func() {
			_, hold := lock(t, m)
			got <- hold
		}()
		time.Sleep(400 * time.Millisecond)
		unlock(t, hold)
		ownHold := <-got
		if n := w.engine.Calls(enginetest.OpRenew); n != 1 {
			t.Errorf("renewed %d times, want once", n)
		}
		if ownHold.Left() < 11*time.Second {
			t.Errorf("Left() = %v, want at least 11s", ownHold.Left())
		}
		unlock(t, ownHold)
	}},
	{"a lock is not handed over to a waiter with other terms", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		got := make(chan *interlock.Hold, 1)
		go func() {
			_, hold := lock(t, w.client.Mutex("k:1", interlock.Lease(time.Second)))
			got <- hold
		}()
		synctest.Wait()
		unlock(t, hold)
		ownHold := <-got
		if ownHold.Left() > time.Second {
			t.Errorf("Left() = %v, want at most 1s", ownHold.Left())
		}
		time.Sleep(2 * time.Second)
		wantFree(t, w.another().Mutex("k:1"))
		_ = ownHold.Unlock()
	}},
	{"a lost lock is not handed over", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		got := make(chan *interlock.Hold, 1)
		go func() {
			_, hold := lock(t, w.client.Mutex("k:1"))
			got <- hold
		}()
		synctest.Wait()
		w.client.StepWall(time.Hour)
		wantErr(t, hold.Unlock(), interlock.ErrLost)
		unlock(t, <-got)
		if n := w.client.Stats().HandedOver; n != 0 {
			t.Errorf("the lock was handed over %d times, want never", n)
		}
	}},
	{"a waiter that gives up during a handover passes it on", func(t *testing.T, w *world) {
		for range 300 { // in most rounds the cancellation and the handover coincide
			_, hold := lock(t, w.client.Mutex("k:1"))
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan struct{})
			go func() {
				defer close(left)
				if _, hold, err := w.client.Mutex("k:1").Lock(ctx); err == nil {
					_ = hold.Unlock()
				}
			}()
			synctest.Wait()
			cancel()
			unlock(t, hold)
			<-left
			w.client.Idle()
			wantFree(t, w.client.Mutex("k:1", interlock.Wait(time.Second)))
		}
		w.client.Idle()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a single attempt gets the answer of the leader", func(t *testing.T, w *world) {
		before := w.engine.Calls(enginetest.OpAcquire)
		var won, lost atomic.Int64
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.Delay, After: time.Millisecond, Times: 1})
		together(1000, func(int) {
			_, _, err := w.client.Mutex("k:1").TryLock(t.Context())
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, interlock.ErrContended):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
		if won.Load() != 1 || lost.Load() != 999 {
			t.Errorf("%d attempts got the lock and %d were contended, want 1 and 999", won.Load(), lost.Load())
		}
		if n := w.engine.Calls(enginetest.OpAcquire) - before; n != 1 {
			t.Errorf("the engine was asked %d times, want once", n)
		}
	}},
	{"a single attempt during a release gets the lock", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Delay, After: time.Millisecond, Times: 1})
		go func() { _ = hold.Unlock() }()
		synctest.Wait()
		_, ownHold, err := w.client.Mutex("k:1").TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, ownHold)
	}},
}

// distant is an engine behind a network that delays each request and each reply.
type distant struct {
	engine.Engine
	delay time.Duration
}

func (d distant) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	time.Sleep(d.delay)
	defer time.Sleep(d.delay)
	return d.Engine.Acquire(ctx, r)
}

func (d distant) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	time.Sleep(d.delay)
	defer time.Sleep(d.delay)
	return d.Engine.Release(ctx, r)
}

// unqueued is an engine that does not queue, for instance because its user lacks the
// permission for the queue of fair locks.
type unqueued struct {
	engine.Engine
	err    error         // the reason
	key    string        // the only key that it does not queue for; empty means all
	queued *atomic.Int64 // requests for other keys
}

func (u unqueued) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	switch {
	case r.Kind != engine.Fair:
	case u.key == "" || u.key == r.Key:
		return engine.Grant{}, u.err
	default:
		u.queued.Add(1)
	}
	return u.Engine.Acquire(ctx, r)
}
