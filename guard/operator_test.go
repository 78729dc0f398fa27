package guard_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// leave leaves an unknown outcome behind.
func leave(t *testing.T, g *guard.Guard[string], k guard.Key) {
	t.Helper()
	_, c := begin(t, g, k)
	ok(t, c.Abandon())
}

var operatorLaws = []law{
	{"an operator says that the work was done, and everybody gets the result", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, strict), process[string](t, w, strict), work("a", 0)
		leave(t, g, key)
		fails(t, g, key, j, guard.ErrUnknown)
		ok(t, g.Resolve(t.Context(), key, "by hand"))
		do(t, g, key, j, "by hand")
		do(t, other, key, j, "by hand")
		j.want(t, 0)
	}},
	{"an operator says that it did not happen, and the next call runs", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", 0)
		leave(t, g, key)
		ok(t, process[string](t, w, strict).Forget(t.Context(), key))
		time.Sleep(guard.DefaultLocal)
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"what is not unknown cannot be resolved", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", time.Second)
		wantErr(t, g.Resolve(t.Context(), key, "x"), guard.ErrNotUnknown)
		wait := begun(t, g, key, j)
		wantErr(t, g.Resolve(t.Context(), key, "x"), guard.ErrNotUnknown)
		wantErr(t, g.Forget(t.Context(), key), guard.ErrNotUnknown)
		_, err := wait()
		ok(t, err)
		wantErr(t, g.Forget(t.Context(), key), guard.ErrNotUnknown)
		do(t, g, key, j, "a")
		j.want(t, 1)
	}},
	{"of two operators one decides", func(t *testing.T, w *world) {
		g, other := process[string](t, w, strict), process[string](t, w, strict)
		leave(t, g, key)
		errs := make([]error, 2)
		together(2, func(i int) { errs[i] = []*guard.Guard[string]{g, other}[i].Resolve(t.Context(), key, fmt.Sprint(i)) })
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("they were told %v and %v", errs[0], errs[1])
		}
	}},
	{"a key can be looked up in plain, in every state", func(t *testing.T, w *world) {
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
			t.Errorf("from its own context: %+v, %v", s, err)
		}
		ok(t, c.Complete("a"))
		want(key, engine.Done)
		leave(t, g, guard.Of("ann", "2"))
		want(guard.Of("ann", "2"), engine.Unknown)
		fails(t, g, guard.Of("ann", "3"), &job{err: errNo}, errNo)
		want(guard.Of("ann", "3"), engine.Failed)
		_, err := g.Lookup(t.Context(), guard.Key{})
		if err == nil {
			t.Error("no error for an empty key")
		}
	}},
	{"every unknown outcome is listed, and nothing of other guards", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "a*b?", OnUnknown: guard.Hold})
		other := process[string](t, w, guard.Policy{Name: "aXbY", OnUnknown: guard.Hold})
		for i := range 250 {
			leave(t, g, guard.Of("ann", fmt.Sprint(i)))
		}
		leave(t, other, key)
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
			t.Errorf("listed %d unknown, %d in all, %d done", n, all, done)
		}
		for range g.List(t.Context()) {
			break
		}
	}},
	{"an engine that is down says so to operators, too", func(t *testing.T, w *world) {
		g := process[string](t, w, strict)
		leave(t, g, key)
		cut(w)
		wantErr(t, g.Resolve(t.Context(), key, "x"), engine.ErrUnavailable)
		_, err := g.Lookup(t.Context(), key)
		wantErr(t, err, engine.ErrUnavailable)
		for _, err := range g.List(t.Context()) {
			wantErr(t, err, engine.ErrUnavailable)
		}
	}},
}

var closingLaws = []law{
	{"a guard that is closed lets what runs end, and refuses what is new", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", time.Minute)
		wait := begun(t, g, key, j)
		closed := make(chan error, 1)
		go func() { closed <- g.Close(context.Background()) }()
		time.Sleep(time.Second)
		fails(t, g, guard.Of("ann", "2"), j, guard.ErrClosed)
		fails(t, g, key, j, guard.ErrClosed)
		if v, err := wait(); err != nil || v != "a" {
			t.Errorf("what ran got %q, %v", v, err)
		}
		ok(t, <-closed)
		j.want(t, 1)
	}},
	{"who waits is told when the guard is closed", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Hour, MaxHold: 2 * time.Hour}
		g, other, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Minute)
		wait := begun(t, g, key, j)
		here, there := begun(t, g, key, j), begun(t, other, key, j)
		queued := begun(t, other, key, j)
		go func() { _ = g.Close(context.Background()) }()
		go func() { _ = other.Close(context.Background()) }()
		for _, w := range []func() (string, error){here, there, queued} {
			_, err := w()
			wantErr(t, err, guard.ErrClosed)
		}
		_, err := wait()
		ok(t, err)
	}},
	{"what still runs when there is no more time loses its claim, and the outcome is unknown", func(t *testing.T, w *world) {
		g, j := process[string](t, w, strict), work("a", time.Hour)
		wait := begun(t, g, key, j)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		wantErr(t, g.Close(ctx), context.DeadlineExceeded)
		_, err := wait()
		wantErr(t, err, errLost)
		time.Sleep(guard.DefaultLease)
		fails(t, process[string](t, w, strict), key, j, guard.ErrUnknown)
	}},
}
