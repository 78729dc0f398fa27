package interlock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

var lossLaws = []law{
	{"a lost lock cancels the work with the reason", func(t *testing.T, w *world) {
		time.AfterFunc(time.Minute, func() { w.memory.Evict("k:1") })
		start := time.Now()
		err := w.client.Mutex("k:1").Do(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			wantErr(t, context.Cause(ctx), interlock.ErrLost)
			wantErr(t, context.Cause(ctx), interlock.ErrNotHolder)
			if d := time.Since(start); d > time.Minute+lease/3 {
				t.Errorf("the loss was noticed after %v, want at the next renewal", d)
			}
			return nil
		})
		var lost *interlock.LostError
		if !errors.As(err, &lost) || lost.Key != "k:1" || lost.Fence == 0 {
			t.Errorf("Do = %v, want a LostError", err)
		}
	}},
	{"the work's own error is returned beside the loss", func(t *testing.T, w *world) {
		time.AfterFunc(time.Second, func() { w.memory.Evict("k:1") })
		oops := errors.New("oops")
		err := w.client.Mutex("k:1").Do(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return oops
		})
		wantErr(t, err, oops)
		wantErr(t, err, interlock.ErrLost)
	}},
	{"a lost lock does not block its own process after Unlock", func(t *testing.T, w *world) {
		c := w.on(w.memory)
		for range 1000 { // the loss and Unlock run at the same time
			ctx, hold := lock(t, c.Mutex("k:1"))
			w.memory.Evict("k:1")
			<-ctx.Done()
			wantErr(t, hold.Unlock(), interlock.ErrLost)
			_, next, err := c.Mutex("k:1").TryLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, next)
		}
	}},
	{"a handover of a lock lost without notice has a fence below the new holder's", func(t *testing.T, w *world) {
		firstClient, otherClient := w.on(w.memory), w.on(w.memory)
		_, first := lock(t, firstClient.Mutex("k:1"))
		passed := make(chan *interlock.Hold)
		go func() {
			_, hold, err := firstClient.Mutex("k:1").Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			passed <- hold
		}()
		synctest.Wait() // the goroutine waits in the local queue
		w.memory.Evict("k:1")
		time.Sleep(time.Millisecond)
		_, now := lock(t, otherClient.Mutex("k:1"))
		_ = first.Unlock()
		late := <-passed
		if late.Fence() <= first.Fence() || late.Fence() >= now.Fence() {
			t.Errorf("the fences are %d, %d after the handover, and %d of the new holder; want them to rise", first.Fence(), late.Fence(), now.Fence())
		}
		wantErr(t, late.Unlock(), interlock.ErrLost)
		unlock(t, now)
	}},
	{"a cut-off holder learns of the loss before another is granted the lock", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		time.Sleep(lease) // three renewals
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Hang})
		learned := make(chan time.Time, 1)
		go func() {
			<-ctx.Done()
			learned <- time.Now()
		}()
		otherClient := w.on(w.memory) // not cut off
		_, otherHold := lock(t, otherClient.Mutex("k:1"))
		granted := time.Now()
		if at := <-learned; !at.Before(granted) {
			t.Errorf("the holder learned of the loss at %v, want before the next grant at %v", at, granted)
		}
		wantErr(t, context.Cause(ctx), interlock.ErrExpired)
		wantErr(t, hold.Unlock(), interlock.ErrLost)
		unlock(t, otherHold)
	}},
	{"the deadline counts from before the renewal was sent", func(t *testing.T, w *world) {
		// The renewal is applied at once, but its reply takes 1.9 s.
		c := w.on(slowAnswers{w.engine, 1900 * time.Millisecond}, interlock.Watchdog(6*time.Second))
		ctx, _, err := c.Mutex("k:1").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second) // renewed at 2 s, answered at 3.9 s
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.Refuse})
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), interlock.ErrExpired) {
			t.Errorf("cause = %v, want ErrExpired", context.Cause(ctx))
		}
		wantBusy(t, w.on(w.memory).Mutex("k:1")) // the engine still keeps the lock
		w.engine.Heal()
	}},
	{"an explicit lease is not renewed (T3)", func(t *testing.T, w *world) {
		wantIn(t, 9*time.Second, 10*time.Second, func() {
			err := w.client.Mutex("k:1", interlock.Lease(10*time.Second)).Do(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			})
			wantErr(t, err, interlock.ErrLost)
			wantErr(t, err, interlock.ErrExpired)
		})
		if n := w.client.Stats().Renewed; n != 0 {
			t.Errorf("the lease was renewed %d times, want never", n)
		}
	}},
	{"a late unlock never releases a successor's lock (L3)", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1", interlock.Lease(time.Second)))
		time.Sleep(2 * time.Second)
		_, otherHold := lock(t, w.another().Mutex("k:1"))
		wantErr(t, hold.Unlock(), interlock.ErrLost)
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, otherHold)
	}},
	{"an unlock that finds the lock gone says that it was lost", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.memory.Evict("k:1")
		wantErr(t, hold.Unlock(), interlock.ErrNotHolder)
		wantErr(t, hold.Unlock(), interlock.ErrLost)
		if n := w.client.Stats().Lost; n != 1 {
			t.Errorf("%d losses counted, want 1", n)
		}
	}},
	{"an unlock that finds another holder does not release that holder's lock", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		w.memory.Evict("k:1")
		_, otherHold := lock(t, w.another().Mutex("k:1"))
		wantErr(t, hold.Unlock(), interlock.ErrLost)
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, otherHold)
	}},
	{"a machine that slept finds its locks lost although its monotonic clock stopped", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		w.client.StepWall(time.Hour)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
			t.Fatal("the context is not done a second after the sleep")
		}
		wantErr(t, context.Cause(ctx), interlock.ErrExpired)
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"a paused process sees the loss in its context at once", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		w.client.StepWall(time.Hour)
		if ctx.Err() == nil {
			t.Error("ctx.Err() = nil, want the loss")
		}
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"a wall clock set back does not prolong a lease", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1", interlock.Lease(10*time.Second)))
		w.client.StepWall(-time.Hour)
		wantIn(t, 9*time.Second, 10*time.Second, func() { <-ctx.Done() })
		wantErr(t, hold.Unlock(), interlock.ErrLost)
	}},
	{"a sleep within the lease does not delay the end of the context", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1", interlock.Lease(30*time.Second)))
		w.client.StepWall(25 * time.Second)
		wantIn(t, 4*time.Second, 5*time.Second, func() { <-ctx.Done() })
		wantErr(t, hold.Unlock(), interlock.ErrExpired)
	}},
	{"a sleep that left some of the lease is followed by a renewal", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		w.client.StepWall(25 * time.Second)
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("the lock was lost: %v", context.Cause(ctx))
		}
		unlock(t, hold)
	}},
	{"an inner entry of a lost lock reports the loss", func(t *testing.T, w *world) {
		m := w.client.Mutex("k:1", interlock.Reentrant())
		ctx, outer := lock(t, m)
		_, inner, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		w.client.StepWall(time.Hour)
		wantErr(t, inner.Unlock(), interlock.ErrLost)
		wantErr(t, outer.Unlock(), interlock.ErrLost)
	}},
	{"Unlock of a lost lock releases it at the engine", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		time.Sleep(9 * time.Second)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRenew, Do: enginetest.LoseReply}) // the engine renews the lock, and the client does not know
		<-ctx.Done()
		wantErr(t, hold.Unlock(), interlock.ErrExpired)
		w.client.Idle()
		wantFree(t, w.another().Mutex("k:1"))
	}},
	{"a queued waiter continues when the holder loses the lock", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		got := make(chan *interlock.Hold)
		go func() {
			_, hold, err := w.client.Mutex("k:1").Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- hold
		}()
		synctest.Wait()
		w.memory.Evict("k:1")
		ownHold := <-got // although the first holder has not unlocked
		wantErr(t, hold.Unlock(), interlock.ErrLost)
		wantBusy(t, w.another().Mutex("k:1"))
		unlock(t, ownHold)
	}},
	{"a released lock cannot be lost", func(t *testing.T, w *world) {
		ctx, hold := lock(t, w.client.Mutex("k:1"))
		unlock(t, hold)
		time.Sleep(2 * lease)
		if cause := context.Cause(ctx); cause != interlock.ErrReleased { //nolint:errorlint // identity is the point
			t.Errorf("cause = %v, want ErrReleased", cause)
		}
		if n := w.client.Stats().Lost; n != 0 {
			t.Errorf("%d losses counted, want none", n)
		}
		if hold.Left() != 0 {
			t.Errorf("Left() = %v, want 0", hold.Left())
		}
	}},
}

// TestHandOverAfterSleep is not a law: in virtual time, both clocks are the same.
func TestHandOverAfterSleep(t *testing.T) {
	c := interlock.New(nil)
	c.MadeBefore(time.Hour)
	_, hold := lock(t, c.Mutex("k:1"))
	got := make(chan *interlock.Hold, 1)
	go func() {
		_, hold, _ := c.Mutex("k:1").Lock(t.Context())
		got <- hold
	}()
	for c.Stats().Waiting == 0 {
		runtime.Gosched()
	}
	unlock(t, hold)
	ownHold := <-got
	if c.Stats().HandedOver != 1 || ownHold.Left() < lease/2 {
		t.Errorf("the lock was handed over %d times, with %v left of %v; want once, with at least half", c.Stats().HandedOver, ownHold.Left(), lease)
	}
	unlock(t, ownHold)
}
