package interlock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

var traceLaws = []law{
	{"the log shows the life of a lock (L10)", func(t *testing.T, w *world) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c := w.on(w.engine, interlock.WithTrace(interlock.Log(logger)))
		m := c.Mutex("order:42")
		_, hold := lock(t, m)
		_, _, _ = w.another(interlock.WithTrace(interlock.Log(logger))).Mutex("order:42").TryLock(t.Context())
		time.Sleep(10*time.Second + time.Millisecond)
		unlock(t, hold)
		ctx, hold := lock(t, m)
		w.memory.Evict("order:42")
		<-ctx.Done()
		_ = hold.Unlock()
		_, hold = lock(t, m)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		_ = hold.Unlock()

		for _, want := range []string{
			`msg="lock: acquired" key=order:42 holder=[0-9a-f]{16} lease=30s fence=[0-9]+`,
			`msg="lock: not acquired" key=order:42 held_by=[0-9a-f]{16} left=30s`,
			`msg="lock: renewed" key=order:42 holder=[0-9a-f]{16}`,
			`msg="lock: released" key=order:42 holder=[0-9a-f]{16} fence=[0-9]+ held=10.001s`,
			`level=ERROR msg="lock: lost" key=order:42 holder=[0-9a-f]{16} .*not the holder`,
			`level=WARN msg="lock: release failed" key=order:42 holder=[0-9a-f]{16} .*unavailable`,
		} {
			if !regexp.MustCompile(want).Match(out.Bytes()) {
				t.Errorf("the log has no line like %s", want)
			}
		}
		if strings.Contains(out.String(), hold.Holder()) {
			t.Error("the log contains a holder id, want only its hash")
		}
		if t.Failed() {
			t.Log(out.String())
		}
	}},
	{"an untidy key is warned about once per name (T8)", func(t *testing.T, w *world) {
		var warned []interlock.Warned
		c := w.another(interlock.WithTrace(&interlock.Trace{Warned: func(e interlock.Warned) { warned = append(warned, e) }}))
		for _, key := range []string{"pay", "pay", "pay:42", "order:", "report:" + strings.Repeat("x", 60), "报告:" + strings.Repeat("长", 62), "短:" + strings.Repeat("长", 60)} {
			_, hold := lock(t, c.Mutex(key))
			unlock(t, hold)
		}
		var got []string
		for _, e := range warned {
			got = append(got, e.Problem)
		}
		if len(warned) != 4 {
			t.Fatalf("the warnings are %q, want 4", got)
		}
		for i, want := range []string{"no identifier", "ends in a colon", "longer than 64", "longer than 64"} {
			if !strings.Contains(warned[i].Problem, want) {
				t.Errorf("warning %d is %q, want %q in it", i, warned[i].Problem, want)
			}
		}
	}},
	{"two traces both receive events", func(t *testing.T, w *world) {
		var a, b, released int
		c := w.another(interlock.WithTrace(&interlock.Trace{Acquired: func(interlock.Acquired) { a++ }})).
			With(interlock.WithTrace(&interlock.Trace{
				Acquired: func(interlock.Acquired) { b++ },
				Released: func(interlock.Released) { released++ },
			}))
		_, hold := lock(t, c.Mutex("k:1"))
		unlock(t, hold)
		if a != 1 || b != 1 || released != 1 {
			t.Errorf("the functions were called %d, %d and %d times, want once each", a, b, released)
		}
	}},
	{"wait and hold times are traced and counted", func(t *testing.T, w *world) {
		var got interlock.Acquired
		var left interlock.Released
		c := w.another(interlock.WithTrace(&interlock.Trace{
			Acquired: func(e interlock.Acquired) { got = e },
			Released: func(e interlock.Released) { left = e },
		}))
		_, otherHold := lock(t, w.client.Mutex("k:1"))
		time.AfterFunc(3*time.Second, func() { _ = otherHold.Unlock() })
		_, hold := lock(t, c.Mutex("k:1"))
		time.Sleep(2 * time.Second)
		unlock(t, hold)
		if got.Waited != 3*time.Second || got.Tries < 2 || got.HandedOver || got.Fence != hold.Fence() {
			t.Errorf("Acquired = %+v, want 3s of waiting, at least 2 tries, and no handover", got)
		}
		if left.Held != 2*time.Second {
			t.Errorf("Released = %+v, want it held for 2s", left)
		}
		if s := c.Stats(); s.Acquired != 1 || s.Released != 1 || s.Held != 2*time.Second || s.Waited != 3*time.Second || s.Live != 0 {
			t.Errorf("Stats = %+v, want one lock acquired and released, 2s held, 3s waited", s)
		}
	}},
	{"a clean-up is traced and counted (L2)", func(t *testing.T, w *world) {
		var got []interlock.CleanedUp
		c := w.another(interlock.WithTrace(&interlock.Trace{CleanedUp: func(e interlock.CleanedUp) { got = append(got, e) }}))
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, err := c.Mutex("k:1").Lock(ctx)
		if errors.Is(err, interlock.ErrContended) {
			t.Error(err)
		}
		c.Idle()
		if len(got) != 1 || !got[0].Found || got[0].Err != nil || c.Stats().CleanedUp != 1 {
			t.Errorf("CleanedUp = %+v, want one event with Found", got)
		}
	}},
}
