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

// Requirement T1: a latch is closed until it was counted down.
var latchLaws = []law{
	{"a latch opens for all waiters after the last count, in any process", func(t *testing.T, w *world) {
		clients := []*interlock.Client{w.client, w.another(), w.another()}
		var opened atomic.Int64
		for i := range 6 {
			go func() {
				if err := clients[i%3].Latch("k:1", 3).Wait(t.Context()); err != nil {
					t.Error(err)
				}
				opened.Add(1)
			}()
		}
		for i, c := range clients {
			synctest.Wait()
			if n := opened.Load(); n != 0 {
				t.Errorf("%d waiters returned after %d counts, want none", n, i)
			}
			if left, err := c.Latch("k:1", 3).CountDown(t.Context()); err != nil || left != 2-i {
				t.Errorf("%d counts are left, error %v; want %d", left, err, 2-i)
			}
		}
		synctest.Wait()
		if n := opened.Load(); n != 6 {
			t.Errorf("%d waiters returned, want 6", n)
		}
	}},
	{"an open latch is open for later callers", func(t *testing.T, w *world) {
		l := w.client.Latch("k:1", 1)
		if _, err := l.CountDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantIn(t, 0, 0, func() {
			if err := w.another().Latch("k:1", 1).Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if left, err := l.CountDown(t.Context()); left != 0 || err != nil {
			t.Errorf("after one more count, %d counts are left, error %v; want none", left, err)
		}
	}},
	{"a count whose reply was lost counts once", func(t *testing.T, w *world) {
		l := w.client.Latch("k:1", 3)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpCountDown, Do: enginetest.LoseReply, Times: 3})
		if left, err := l.CountDown(t.Context()); left != 2 || err != nil {
			t.Errorf("%d counts are left, error %v; want 2", left, err)
		}
	}},
	{"a lost notification costs one second at most", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		time.AfterFunc(10*time.Second+time.Millisecond, func() { _, _ = w.another().Latch("k:1", 1).CountDown(t.Context()) })
		wantIn(t, 10*time.Second, 11*time.Second+time.Millisecond, func() {
			if err := w.client.Latch("k:1", 1).Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}},
	{"waiting for a latch ends with the context or Wait and reports the counts left", func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantIn(t, time.Second, time.Second, func() {
			err := w.client.Latch("k:1", 2).Wait(ctx)
			wantErr(t, err, interlock.ErrNotOpen)
			wantErr(t, err, context.DeadlineExceeded)
		})
		wantIn(t, time.Second, time.Second, func() {
			wantErr(t, w.client.Latch("k:1", 2, interlock.Wait(time.Second)).Wait(t.Context()), interlock.ErrNotOpen)
		})
	}},
	{"Wait of zero asks once", func(t *testing.T, w *world) {
		l := w.client.Latch("k:1", 1, interlock.Wait(0))
		wantIn(t, 0, 0, func() { wantErr(t, l.Wait(t.Context()), interlock.ErrNotOpen) })
		if _, err := l.CountDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}},
	{"a short-lived latch with waiters does not expire", func(t *testing.T, w *world) {
		l := w.client.Latch("k:1", 2, interlock.Lease(100*time.Millisecond))
		done := make(chan error)
		go func() { done <- l.Wait(t.Context()) }()
		for range 2 {
			time.Sleep(time.Second)
			if _, err := l.CountDown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}},
	{"a latch with waiters does not expire", func(t *testing.T, w *world) {
		l := w.client.Latch("k:1", 2, interlock.Lease(10*time.Second))
		if _, err := l.CountDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Hour, func() { _, _ = l.CountDown(t.Context()) })
		wantIn(t, time.Hour, time.Hour+time.Second, func() {
			if err := w.another().Latch("k:1", 2, interlock.Lease(10*time.Second)).Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}},
	{"an unused latch expires and is closed again", func(t *testing.T, w *world) {
		l := w.client.Latch("k:1", 1, interlock.Lease(10*time.Second))
		if _, err := l.CountDown(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if left, err := l.Left(t.Context()); left != 1 || err != nil {
			t.Errorf("%d counts are left, error %v; want 1", left, err)
		}
	}},
	{"an engine that is down is retried, and then reported", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpCountDown, Do: enginetest.Refuse})
		wantIn(t, time.Second, 4*time.Second, func() {
			_, err := w.client.Latch("k:1", 1).CountDown(t.Context())
			wantErr(t, err, interlock.ErrUnavailable)
		})
		wantIn(t, 4*time.Second, 7*time.Second, func() {
			wantErr(t, w.client.Latch("k:1", 1).Wait(t.Context()), interlock.ErrUnavailable)
		})
		time.AfterFunc(time.Second, w.engine.Heal)
		if left, err := w.client.Latch("k:1", 1).CountDown(t.Context()); left != 0 || err != nil {
			t.Errorf("%d counts are left, error %v; want 0, as the engine works again", left, err)
		}
	}},
	{"a lock at the key is not mistaken for a latch", func(t *testing.T, w *world) {
		_, hold := lock(t, w.client.Mutex("k:1"))
		_, err := w.client.Latch("k:1", 1).CountDown(t.Context())
		wantErr(t, err, interlock.ErrKind)
		unlock(t, hold)
	}},
	{"closing the client ends the wait", func(t *testing.T, w *world) {
		waited := make(chan error)
		go func() { waited <- w.client.Latch("k:1", 1).Wait(t.Context()) }()
		synctest.Wait()
		if err := w.client.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, <-waited, interlock.ErrClosed)
		_, err := w.client.Latch("k:1", 1).CountDown(t.Context())
		wantErr(t, err, interlock.ErrClosed)
	}},
	{"a closed client gives up on an engine that is down", func(t *testing.T, w *world) {
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpCountDown, Do: enginetest.Refuse})
		waited := make(chan error)
		go func() { waited <- w.client.Latch("k:1", 1).Wait(t.Context()) }()
		synctest.Wait()
		if err := w.client.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantIn(t, 0, 0, func() { wantErr(t, <-waited, interlock.ErrClosed) })
	}},
	{"an invalid latch is refused", func(t *testing.T, w *world) {
		_, err := w.client.Latch("k:1", 0).CountDown(t.Context())
		wantErr(t, err, interlock.ErrOption)
		_, err = w.client.Latch("", 1).Left(t.Context())
		wantErr(t, err, interlock.ErrKey)
		wantErr(t, w.on(plainOnly{w.engine}).Latch("k:1", 1).Wait(t.Context()), errors.ErrUnsupported)
	}},
}
