package interlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/engine/enginetest"
)

// panickingTrace returns a trace whose functions all panic.
func panickingTrace() *interlock.Trace {
	return &interlock.Trace{
		Waiting:       func(interlock.Waiting) { panic("a faulty trace") },
		Acquired:      func(interlock.Acquired) { panic("a faulty trace") },
		Holding:       func(interlock.Acquired) context.Context { panic("a faulty trace") },
		Contended:     func(interlock.Contended) { panic("a faulty trace") },
		Renewed:       func(interlock.Renewed) { panic("a faulty trace") },
		Released:      func(interlock.Released) { panic("a faulty trace") },
		Lost:          func(interlock.Lost) { panic("a faulty trace") },
		CleanedUp:     func(interlock.CleanedUp) { panic("a faulty trace") },
		ReleaseFailed: func(interlock.ReleaseFailed) { panic("a faulty trace") },
	}
}

var traceLaws = []law{
	{"the log shows the life of a lock (L10)", func(t *testing.T, w *world) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c := w.on(w.engine, interlock.WithName("pay"), interlock.WithTrace(interlock.Log(logger)))
		m := c.Mutex("order:42")
		_, hold := lock(t, m)
		_, _, _ = w.another(interlock.WithName("pay"), interlock.WithTrace(interlock.Log(logger))).Mutex("order:42").TryLock(t.Context())
		time.Sleep(10*time.Second + time.Millisecond)
		unlock(t, hold)
		ctx, hold := lock(t, m)
		w.memory.Evict("order:42")
		<-ctx.Done()
		_ = hold.Unlock()
		_, hold = lock(t, m)
		w.memory.Evict("order:42")
		_ = hold.Unlock()
		_, hold = lock(t, m)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		_ = hold.Unlock()
		c.Idle()

		for _, want := range []string{
			`msg="lock: acquired" name=pay kind=exclusive key=order:42 holder=[0-9a-f]{16} lease=30s fence=[0-9]+`,
			`msg="lock: not acquired" name=pay kind=exclusive key=order:42 held_by=[0-9a-f]{16} left=30s`,
			`msg="lock: renewed" name=pay kind=exclusive key=order:42 holder=[0-9a-f]{16}`,
			`msg="lock: released" name=pay kind=exclusive key=order:42 holder=[0-9a-f]{16} fence=[0-9]+ held=10.001s`,
			`level=ERROR msg="lock: lost" name=pay kind=exclusive key=order:42 holder=[0-9a-f]{16} .*not the holder`,
			`level=ERROR msg="lock: release refused" name=pay kind=exclusive key=order:42 holder=[0-9a-f]{16} .* reason=not-holder`,
			`level=WARN msg="lock: release failed" name=pay kind=exclusive key=order:42 holder=[0-9a-f]{16} .*unavailable`,
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
	{"untidy keys with the same first part cause one warning (T8)", func(t *testing.T, w *world) {
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
	{"a warning without a name is logged without a key", func(t *testing.T, w *world) {
		var out strings.Builder
		c := w.another(interlock.WithTrace(interlock.Log(slog.New(slog.NewTextHandler(&out, nil)))))
		c.Warn("", "no secret is set")
		c.Warn("pay", "no wait is set")
		if got := out.String(); !strings.Contains(got, "msg=\"lock: no secret is set\"\n") || !strings.Contains(got, "msg=\"lock: no wait is set\" key=pay\n") {
			t.Errorf("the log is\n%s", got)
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
	{"every event has the business name and the kind of its lock", func(t *testing.T, w *world) {
		got := make(map[string]string)
		var mu sync.Mutex // the client calls some functions in a goroutine of its own
		note := func(event, name string, kind interlock.Kind) {
			mu.Lock()
			defer mu.Unlock()
			got[event] = name + " " + kind.String()
		}
		c := w.another(interlock.WithName("pay"), interlock.WithTrace(&interlock.Trace{
			Waiting:       func(e interlock.Waiting) { note("waiting", e.Name, e.Kind) },
			Acquired:      func(e interlock.Acquired) { note("acquired", e.Name, e.Kind) },
			Contended:     func(e interlock.Contended) { note("contended "+e.Result(), e.Name, e.Kind) },
			Failed:        func(e interlock.Failed) { note("failed", e.Name, e.Kind) },
			Renewed:       func(e interlock.Renewed) { note("renewed", e.Name, e.Kind) },
			Released:      func(e interlock.Released) { note("released", e.Name, e.Kind) },
			ReleaseFailed: func(e interlock.ReleaseFailed) { note("release failed", e.Name, e.Kind) },
			Lost:          func(e interlock.Lost) { note("lost "+e.Reason(), e.Name, e.Kind) },
			CleanedUp:     func(e interlock.CleanedUp) { note("cleaned up", e.Name, e.Kind) },
		}))
		m := c.Mutex("k:1", interlock.Fair())
		_, hold := lock(t, m)
		_, _, _ = m.TryLock(t.Context())
		_, _, _ = c.Mutex("k:1", interlock.Fair(), interlock.Wait(time.Second)).Lock(t.Context())
		soon, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, _, _ = m.Lock(soon)
		time.Sleep(10 * time.Second) // a renewal
		unlock(t, hold)
		ctx, hold := lock(t, m)
		w.memory.Evict("k:1")
		<-ctx.Done()
		_ = hold.Unlock()
		_, hold = lock(t, m)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpRelease, Do: enginetest.Refuse})
		_ = hold.Unlock()
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpAcquire, Do: enginetest.LoseReply})
		soon, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, _ = c.Mutex("k:2", interlock.Fair()).Lock(soon)
		c.Idle()
		for _, event := range []string{"waiting", "acquired", "contended busy", "contended timeout", "contended cancelled", "failed", "renewed",
			"released", "release failed", "lost not-holder", "cleaned up"} {
			if got[event] != "pay fair" {
				t.Errorf("the event %q has name and kind %q, want %q", event, got[event], "pay fair")
			}
		}
	}},
	{"an acquisition is traced with the time since the lock was found held", func(t *testing.T, w *world) {
		var queued []time.Duration
		note := interlock.WithTrace(&interlock.Trace{Acquired: func(e interlock.Acquired) { queued = append(queued, e.Queued) }})
		first, second := w.another(note), w.another(note)
		_, hold := lock(t, first.Mutex("k:1"))
		for _, c := range []*interlock.Client{first, second} { // waits in the local queue, and at the engine
			held := hold
			time.AfterFunc(time.Second, func() { unlock(t, held) })
			_, hold = lock(t, c.Mutex("k:1"))
		}
		unlock(t, hold)
		if want := []time.Duration{0, time.Second, time.Second}; !slices.Equal(queued, want) {
			t.Errorf("the locks were queued for %v, want %v", queued, want)
		}
	}},
	{"a trace adds values to the context of the work, and finds them again at its end", func(t *testing.T, w *world) {
		type span struct{}
		add := func(value string) *interlock.Trace {
			return &interlock.Trace{Holding: func(e interlock.Acquired) context.Context {
				before, _ := e.Context.Value(span{}).(string)
				return context.WithValue(e.Context, span{}, before+value)
			}}
		}
		var released, lost any
		c := w.another(interlock.WithTrace(add("a")), interlock.WithTrace(add("b")), interlock.WithTrace(&interlock.Trace{
			Released: func(e interlock.Released) { released = e.Context.Value(span{}) },
			Lost:     func(e interlock.Lost) { lost = e.Context.Value(span{}) },
		}))
		outer := context.WithValue(t.Context(), span{}, "outer ")
		ctx, hold, err := c.Mutex("k:1").Lock(outer)
		if err != nil {
			t.Fatal(err)
		}
		if got := ctx.Value(span{}); got != "outer ab" {
			t.Errorf("the work's context has the value %q, want %q", got, "outer ab")
		}
		unlock(t, hold)
		if released != "outer ab" {
			t.Errorf("Released has the value %q, want %q", released, "outer ab")
		}
		ctx, hold = lock(t, c.Mutex("k:1"))
		w.memory.Evict("k:1")
		<-ctx.Done()
		_ = hold.Unlock()
		c.Idle()
		if lost != "ab" {
			t.Errorf("Lost has the value %q, want %q", lost, "ab")
		}
	}},
	{"a trace that panics breaks no lock", func(t *testing.T, w *world) {
		c := w.another(interlock.WithTrace(panickingTrace()))
		m := c.Mutex("k:1")
		ctx, hold := lock(t, m)
		_, _, _ = m.TryLock(t.Context())
		_, _, _ = c.Mutex("k:1", interlock.Wait(time.Second)).Lock(t.Context())
		time.Sleep(15 * time.Second) // a renewal
		if err := ctx.Err(); err != nil {
			t.Errorf("the work's context ended: %v", err)
		}
		unlock(t, hold)
		ctx, hold = lock(t, m)
		w.memory.Evict("k:1")
		<-ctx.Done()
		_ = hold.Unlock()
		_, hold = lock(t, m)
		unlock(t, hold)
		c.Idle()
		if s := c.Stats(); s.Live != 0 || s.Waiting != 0 || s.Acquired != 3 || s.Released != 2 || s.Lost != 1 {
			t.Errorf("Stats = %+v, want 3 locks acquired, 2 released and 1 lost", s)
		}
	}},
	{"a trace that blocks on one lock delays neither the renewal nor the loss of others", func(t *testing.T, w *world) {
		done := make(chan struct{})
		var blocked []string
		block := func(key, event string) {
			if key == "slow:1" {
				blocked = append(blocked, event)
				<-done
			}
		}
		c := w.another(interlock.WithTrace(&interlock.Trace{
			Renewed: func(e interlock.Renewed) { block(e.Key, "renewed") },
			Lost:    func(e interlock.Lost) { block(e.Key, "lost") },
		}))
		slow, slowHold := lock(t, c.Mutex("slow:1"))
		held, hold := lock(t, c.Mutex("k:1"))
		time.Sleep(5 * time.Minute)
		if slow.Err() != nil || held.Err() != nil {
			t.Errorf("the locks ended with %v and %v, want both held", slow.Err(), held.Err())
		}
		gone, lost := lock(t, c.Mutex("k:2"))
		w.memory.Evict("slow:1")
		w.memory.Evict("k:2")
		time.Sleep(time.Minute)
		if slow.Err() == nil || gone.Err() == nil || held.Err() != nil {
			t.Errorf("the locks ended with %v, %v and %v, want the first two lost", slow.Err(), gone.Err(), held.Err())
		}
		_, _ = slowHold.Unlock(), lost.Unlock()
		_, another := lock(t, c.Mutex("k:2"))
		unlock(t, another)
		unlock(t, hold)
		close(done)
		c.Idle()
		if len(blocked) < 2 {
			t.Errorf("the trace was blocked by %q, want renewals and the loss", blocked)
		}
	}},
	{"the exemplar function runs on the caller's goroutine, so a slow one delays no other lock", func(t *testing.T, w *world) {
		done, calls := make(chan struct{}), 0
		c := w.another(interlock.WithExemplars(func(ctx context.Context) string {
			if ctx.Value(faulty{}) != nil {
				if calls++; calls > 1 { // the hold has begun
					<-done
				}
			}
			return ""
		}))
		_, slow, err := c.Mutex("slow:1").Lock(context.WithValue(t.Context(), faulty{}, true))
		if err != nil {
			t.Fatal(err)
		}
		held, hold := lock(t, c.Mutex("k:1"))
		w.memory.Evict("slow:1")
		time.Sleep(5 * time.Minute)
		if held.Err() != nil || calls != 1 {
			t.Errorf("the exemplar function was called %d times and the other lock ended with %v; want 1 call and the lock held", calls, held.Err())
		}
		close(done)
		_ = slow.Unlock()
		unlock(t, hold)
	}},
	{"the counters of a client are also kept by business name and kind", func(t *testing.T, w *world) {
		pay := w.client.With(interlock.WithName("pay"))
		_, hold := lock(t, pay.Mutex("k:1"))
		_, _, _ = pay.Mutex("k:1").TryLock(t.Context())
		_, _, _ = pay.Mutex("k:1", interlock.Wait(time.Second)).Lock(t.Context())
		time.Sleep(time.Second)
		unlock(t, hold)
		_, hold = lock(t, pay.RWMutex("k:2").Write())
		ctx, reader, err := hold.Downgrade()
		if err != nil {
			t.Fatal(err)
		}
		w.memory.Evict("k:2")
		<-ctx.Done()
		_ = reader.Unlock()
		synctest.Wait() // the loss is counted after the work was canceled
		for i := range 1200 {
			_, hold := lock(t, w.client.Mutex("k:3", interlock.Fair(), interlock.WithName(fmt.Sprint("name ", i))))
			unlock(t, hold)
		}
		var total interlock.Stats
		got := make(map[string]interlock.LockStats)
		for _, s := range w.client.LockStats() {
			got[s.Name+" "+s.Kind.String()] = s
			total.Acquired += s.Acquired
		}
		if s := got["pay exclusive"]; s.Acquired != 1 || s.Contended != 2 || s.Busy != 1 || s.TimedOut != 1 || s.Hold.Count != 1 || s.Hold.Sum != 2*time.Second || s.Wait.Count != 1 {
			t.Errorf("the exclusive locks of pay have %+v, want one acquired, held for 2s, and two contended", s)
		}
		if s := got["pay read"]; s.Acquired != 1 || s.Lost != 1 || s.LostBy["not-holder"] != 1 {
			t.Errorf("the read locks of pay have %+v, want one acquired and lost", s)
		}
		if s := got["pay write"]; s.Acquired != 1 || s.Released != 1 {
			t.Errorf("the write locks of pay have %+v, want one acquired and released", s)
		}
		if s := got["other fair"]; s.Acquired < 200 || s.Acquired > 210 || len(got) > 1010 {
			t.Errorf("%d of 1,200 names are counted as other, in %d series, want about 200 in at most 1,010", s.Acquired, len(got))
		}
		if all := w.client.Stats(); all.Acquired != total.Acquired || all.Live != 0 {
			t.Errorf("Stats = %+v, want the sum of all names", all)
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

type faulty struct{}
