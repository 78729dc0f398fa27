package guard_test

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
	"github.com/interlock-go/interlock/guard"
)

// leaveUnknown makes the outcome of a key unknown.
func leaveUnknown(t *testing.T, g *guard.Guard[string], k guard.Key) {
	t.Helper()
	_, c := begin(t, g, k)
	ok(t, c.Abandon())
}

var operatorLaws = []law{
	{"Resolve makes an operator's result the one that all callers get", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, strict), process[string](t, w, strict), work("a", 0)
		leaveUnknown(t, g, key)
		fails(t, g, key, j, guard.ErrUnknown)
		ok(t, g.Resolve(t.Context(), key, "by hand"))
		do(t, g, key, j, "by hand")
		do(t, otherProcess, key, j, "by hand")
		j.want(t, 0)
	}},
	{"after Forget the next call runs", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		leaveUnknown(t, g, key)
		ok(t, process[string](t, w, strict).Forget(t.Context(), key))
		time.Sleep(guard.DefaultLocalCache)
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"only an unknown outcome can be resolved", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", time.Second)
		wantErr(t, g.Resolve(t.Context(), key, "x"), guard.ErrNotUnknown)
		wait := startCall(t, g, key, j)
		wantErr(t, g.Resolve(t.Context(), key, "x"), guard.ErrNotUnknown)
		wantErr(t, g.Forget(t.Context(), key), guard.ErrNotUnknown)
		_, err := wait()
		ok(t, err)
		wantErr(t, g.Forget(t.Context(), key), guard.ErrNotUnknown)
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"an operator whose decision arrives too late changes nothing", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		late := remote[string](t, w, strict)
		leaveUnknown(t, g, key)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: time.Second, Times: 1})
		decided := make(chan error, 1)
		go func() { decided <- late.Resolve(t.Context(), key, "made up") }()
		synctest.Wait()
		ok(t, on[string](t, w, w.memory, strict).Forget(t.Context(), key))
		wantErr(t, <-decided, guard.ErrNotUnknown)
		time.Sleep(time.Second)
		if s, err := g.Lookup(t.Context(), key); err != nil || s.State != engine.Absent {
			t.Errorf("Lookup = %+v, %v; want absent", s, err)
		}
	}},
	{"an operator's decision is cached, not the answer from before it", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		leaveUnknown(t, g, key)
		ok(t, g.Resolve(t.Context(), key, "by hand"))
		time.Sleep(2*guard.DefaultLocalCache - time.Millisecond)
		asked := claims(w)
		do(t, g, key, j, "by hand")
		time.Sleep(time.Millisecond)
		do(t, g, key, j, "by hand")
		if n := claims(w) - asked; n != 1 {
			t.Errorf("%d calls asked the engine, want 1", n)
		}
	}},
	{"a caller that waited during an operator's decision still asks on behalf of its process", func(t *testing.T, w *world) {
		p := strict
		p.OnDuplicate, p.Wait = guard.Wait, time.Minute
		g, j := process[string](t, w, p), work("a", 10*time.Second)
		leaveUnknown(t, g, key)
		time.Sleep(guard.DefaultLocalCache)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpSettle, Do: enginetest.Delay, After: time.Second, Times: 1})
		decided := make(chan error, 1)
		go func() { decided <- g.Forget(t.Context(), key) }()
		synctest.Wait()
		first := startCall(t, g, key, j)
		ok(t, <-decided)
		time.Sleep(2 * time.Second)
		asked := claims(w)
		second := startCall(t, g, key, j)
		for _, wait := range []func() (string, error){first, second} {
			_, err := wait()
			ok(t, err)
		}
		if n := claims(w) - asked; n != 0 {
			t.Errorf("%d calls asked the engine about work of this process, want none", n)
		}
		j.want(t, 1)
	}},
	{"an operator's result that cannot be encoded changes nothing", func(t *testing.T, w *world) {
		for _, opt := range []guard.Option{guard.WithCodec(panicking{}), guard.MaxResult(1)} {
			g := process[string](t, w, strict, opt)
			leaveUnknown(t, g, key)
			if err := g.Resolve(t.Context(), key, "by hand"); !errors.Is(err, guard.ErrCodec) && !errors.Is(err, guard.ErrTooLarge) {
				t.Errorf("Resolve = %v, want ErrCodec or ErrTooLarge", err)
			}
			ok(t, g.Forget(t.Context(), key))
		}
		window := guard.Policy{Name: "form", After: guard.Window, Window: time.Minute, OnUnknown: guard.Hold}
		g := process[string](t, w, window, guard.WithCodec(panicking{}))
		leaveUnknown(t, g, key)
		ok(t, g.Resolve(t.Context(), key, "it is not kept"))
	}},
	{"a listed key can be looked up and resolved as listed", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		leaveUnknown(t, g, key)
		leaveUnknown(t, g, guard.Of("ann", "2"))
		n := 0
		for s, err := range g.List(t.Context(), engine.Unknown) {
			ok(t, err)
			if again, err := g.Lookup(t.Context(), guard.Hashed(s.Key)); err != nil || again.State != engine.Unknown {
				t.Errorf("Lookup = %+v, %v; want unknown", again, err)
			}
			if n++; n == 1 {
				ok(t, g.Resolve(t.Context(), guard.Hashed(s.Key), "by hand"))
			} else {
				ok(t, g.Forget(t.Context(), guard.Hashed(s.Key)))
			}
		}
		if n != 2 {
			t.Errorf("%d keys are listed, want 2", n)
		}
		_, err := g.Lookup(t.Context(), guard.Hashed("refund:x"))
		wantErr(t, err, interlock.ErrKey)
		fails(t, g, guard.Hashed("order:x"), work("a", 0), interlock.ErrKey)
	}},
	{"of two concurrent operators one decides", func(t *testing.T, w *world) {
		g, otherProcess := process[string](t, w, strict), process[string](t, w, strict)
		leaveUnknown(t, g, key)
		for _, op := range []enginetest.Op{enginetest.OpClaim, enginetest.OpSettle} { // so that both operators are at the same step
			w.engine.Inject(enginetest.Fault{Op: op, Do: enginetest.Delay, After: time.Second})
		}
		errs := make([]error, 2)
		together(2, func(i int) {
			errs[i] = []*guard.Guard[string]{g, otherProcess}[i].Resolve(t.Context(), key, fmt.Sprint(i))
		})
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("the operators got %v and %v, want one error", errs[0], errs[1])
		}
	}},
	{"a plain key can be looked up in every state", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "order", OnUnknown: guard.Hold, OnError: guard.Keep})
		want := func(k guard.Key, state guard.State) {
			t.Helper()
			s, err := g.Lookup(t.Context(), k)
			if err != nil || s.State != state || state != engine.Absent && (s.Fence == 0 || s.Began.IsZero() || s.Left <= 0) {
				t.Errorf("Lookup = %+v, %v; want %v", s, err, state)
			}
		}
		want(key, engine.Absent)
		ctx, c := begin(t, g, key)
		want(key, engine.Running)
		if s, err := g.Lookup(ctx, key); err != nil || s.State != engine.Running {
			t.Errorf("Lookup from the work's own context = %+v, %v; want running", s, err)
		}
		ok(t, c.Complete("a"))
		want(key, engine.Done)
		leaveUnknown(t, g, guard.Of("ann", "2"))
		want(guard.Of("ann", "2"), engine.Unknown)
		fails(t, g, guard.Of("ann", "3"), &job{err: errNo}, errNo)
		want(guard.Of("ann", "3"), engine.Failed)
		_, err := g.Lookup(t.Context(), guard.Key{})
		if err == nil {
			t.Error("Lookup of an empty key = nil, want an error")
		}
	}},
	{"List returns every unknown outcome, and none of other guards", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "a*b?", OnUnknown: guard.Hold})
		otherProcess := process[string](t, w, guard.Policy{Name: "aXbY", OnUnknown: guard.Hold})
		for i := range 250 {
			leaveUnknown(t, g, guard.Of("ann", fmt.Sprint(i)))
		}
		leaveUnknown(t, otherProcess, key)
		do(t, g, key, work("a", 0), "a")
		count := func(states ...guard.State) int {
			seen := make(map[string]bool)
			for s, err := range g.List(t.Context(), states...) {
				ok(t, err)
				seen[s.Key] = true
			}
			return len(seen)
		}
		if n, all, done := count(engine.Unknown), count(), count(engine.Done); n != 250 || all != 251 || done != 1 {
			t.Errorf("listed %d unknown, %d in all, %d done; want 250, 251 and 1", n, all, done)
		}
		for range g.List(t.Context()) {
			break
		}
	}},
	{"operators get an error while the engine is down", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		leaveUnknown(t, g, key)
		failEngine(w)
		wantErr(t, g.Resolve(t.Context(), key, "x"), engine.ErrUnavailable)
		_, err := g.Lookup(t.Context(), key)
		wantErr(t, err, engine.ErrUnavailable)
		for _, err := range g.List(t.Context()) {
			wantErr(t, err, engine.ErrUnavailable)
		}
	}},
}

// panicking is a codec that panics.
type panicking struct{ guard.JSON }

func (panicking) Marshal(any) ([]byte, error) { panic("boom") }

var closingLaws = []law{
	{"a closing guard lets running work end, and refuses new work", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Minute)
		wait := startCall(t, g, key, j)
		closed := make(chan error, 1)
		go func() { closed <- g.Close(context.Background()) }()
		time.Sleep(time.Second)
		fails(t, g, guard.Of("ann", "2"), j, guard.ErrClosed)
		fails(t, g, key, j, guard.ErrClosed)
		if v, err := wait(); err != nil || v != "a" {
			t.Errorf("the running work returned %q, %v; want a", v, err)
		}
		ok(t, <-closed)
		j.want(t, 1)
	}},
	{"no work starts after Close", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", time.Minute)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: time.Second, Times: 1})
		asking := startCall(t, g, key, j)
		start := time.Now()
		go func() {
			_, err := g.Do(t.Context(), key, j.do)
			wantErr(t, err, guard.ErrClosed)
			if d := time.Since(start); d != 0 {
				t.Errorf("the waiter was answered after %v, want at once", d)
			}
		}()
		synctest.Wait()
		ok(t, g.Close(context.Background()))
		if d := time.Since(start); d != time.Second {
			t.Errorf("Close returned after %v, want 1s: when the pending call has ended", d)
		}
		_, err := asking()
		wantErr(t, err, guard.ErrClosed)
		j.want(t, 0)
		do(t, process[string](t, w, strict), key, j, "a")
	}},
	{"no unguarded work starts after Close", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), work("a", time.Minute)
		failEngine(w)
		asking := startCall(t, g, key, j)
		ok(t, g.Close(context.Background()))
		_, err := asking()
		wantErr(t, err, guard.ErrClosed)
		j.want(t, 0)
	}},
	{"Close waits for unguarded work, too", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), work("a", time.Minute)
		failEngine(w)
		wait := startCall(t, g, key, j)
		time.Sleep(3 * time.Second)
		start := time.Now()
		ok(t, g.Close(context.Background()))
		if d := time.Since(start); d < 55*time.Second {
			t.Errorf("Close returned after %v, want at least 55s", d)
		}
		_, err := wait()
		ok(t, err)
	}},
	{"Close reports results that the engine did not accept", func(t *testing.T, w *world) {
		g, err := guard.New[string](interlock.New(w.engine), order)
		ok(t, err)
		_, c := begin(t, g, key)
		failEngine(w)
		wantErr(t, c.Complete("a"), guard.ErrNotStored)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		wantErr(t, g.Close(ctx), guard.ErrNotStored)
		time.Sleep(guard.DefaultLease) // the guard still retries in the background
	}},
	{"Close reports a result that it gave up storing", func(t *testing.T, w *world) {
		g, err := guard.New[string](interlock.New(w.engine), order)
		ok(t, err)
		_, c := begin(t, g, key)
		failEngine(w)
		wantErr(t, c.Complete("a"), guard.ErrNotStored)
		wantErr(t, g.Close(context.Background()), guard.ErrNotStored)
	}},
	{"Close reports unguarded work that still runs", func(t *testing.T, w *world) {
		g, err := guard.New[string](interlock.New(w.engine), guard.Form("form"))
		ok(t, err)
		failEngine(w)
		_, c := begin(t, g, key)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if g.Close(ctx) == nil {
			t.Error("Close returned no error while work runs")
		}
		ok(t, c.Complete("a"))
		ok(t, g.Close(context.Background()))
	}},
	{"an idle guard has no subscriptions and no cached answers", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, order), process[string](t, w, order), work("a", time.Second)
		for i := range 20 {
			k := guard.Of("ann", fmt.Sprint(i))
			wait := startCall(t, g, k, j)
			refused(t, otherProcess, k, j)
			_, err := wait()
			ok(t, err)
		}
		time.Sleep(5 * time.Second)
		if n, m := g.Entries(), otherProcess.Entries(); n != 0 || m != 0 {
			t.Errorf("%d and %d keys are cached, want none", n, m)
		}
	}},
	{"a closed guard caches nothing, not even late answers", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, order), on[string](t, w, w.memory, order), work("a", 0)
		late := guard.Of("ann", "late")
		do(t, otherProcess, late, j, "a")
		do(t, g, key, j, "a")
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Delay, After: time.Millisecond, Times: 1})
		asking := startCall(t, g, late, j)
		ok(t, g.Close(context.Background()))
		if v, err := asking(); err != nil || v != "a" {
			t.Errorf("the earlier caller got %q, %v; want a", v, err)
		}
		if n := g.Entries(); n != 0 {
			t.Errorf("%d keys are cached, want none", n)
		}
	}},
	{"Close ends all waiting", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Hour, MaxHold: 2 * time.Hour}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Minute)
		wait := startCall(t, g, key, j)
		first, second := startCall(t, g, key, j), startCall(t, otherProcess, key, j)
		queued := startCall(t, otherProcess, key, j)
		start := time.Now()
		go func() { _ = g.Close(context.Background()) }()
		go func() { _ = otherProcess.Close(context.Background()) }()
		for _, w := range []func() (string, error){first, second, queued} {
			_, err := w()
			wantErr(t, err, guard.ErrClosed)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("the waiters were answered after %v, want at once", d)
		}
		_, err := wait()
		ok(t, err)
	}},
	{"work that runs when Close times out loses its claim, and its outcome is unknown", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", time.Hour)
		wait := startCall(t, g, key, j)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		wantErr(t, g.Close(ctx), context.DeadlineExceeded)
		_, err := wait()
		wantErr(t, err, errLost)
		wantErr(t, err, interlock.ErrClosed)
		time.Sleep(guard.DefaultLease)
		fails(t, process[string](t, w, strict), key, j, guard.ErrUnknown)
	}},
}
