package guard_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

// claims returns how often the engine was asked for a claim.
func claims(w *world) int { return w.engine.Calls(enginetest.OpClaim) }

var localLaws = []law{
	{"of a thousand concurrent calls in a process one asks the engine (T10)", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{order, patient, {Name: "refuse", OnDuplicate: guard.Refuse}, guard.Form("form")} {
			before := claims(w)
			g, j := process[string](t, w, p), work("a", time.Second)
			together(1000, func(int) {
				if _, err := g.Do(t.Context(), key, j.do); err != nil && !errors.Is(err, guard.ErrDuplicate) {
					t.Errorf("Do: %v", err)
				}
			})
			if n := claims(w) - before; n != 1 {
				t.Errorf("%s: the engine was asked %d times, want once", p.OnDuplicate, n)
			}
			if s := g.Stats(); s.Coalesced != 999 || s.Asked != 1 {
				t.Errorf("Coalesced = %d, Asked = %d; want 999 and 1", s.Coalesced, s.Asked)
			}
		}
	}},
	{"a process caches an outcome for half a second (T10)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		do(t, g, key, j, "a")
		time.Sleep(499 * time.Millisecond)
		do(t, g, key, j, "a")
		if n := claims(w); n != 1 {
			t.Errorf("the engine was asked %d times before LocalCache passed, want once", n)
		}
		time.Sleep(2 * time.Millisecond)
		do(t, g, key, j, "a")
		if n := claims(w); n != 2 {
			t.Errorf("the engine was asked %d times after LocalCache passed, want twice", n)
		}
		j.want(t, 1)
	}},
	{"a process caches another process's result for half a second, too", func(t *testing.T, w *world) {
		j := work("a", 0)
		do(t, process[string](t, w, order), key, j, "a")
		before := claims(w)
		g := process[string](t, w, order)
		for range 20 {
			do(t, g, key, j, "a")
		}
		if n := claims(w) - before; n != 1 {
			t.Errorf("the engine was asked %d times, want once", n)
		}
	}},
	{"a process asks about another process's work once in half a second", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, order), process[string](t, w, order), work("a", 10*time.Second)
		wait := startCall(t, g, key, j)
		before := claims(w)
		for range 200 {
			refused(t, otherProcess, key, j)
			time.Sleep(10 * time.Millisecond)
		}
		if n := claims(w) - before; n > 6 {
			t.Errorf("the engine was asked %d times in two seconds, want at most 6", n)
		}
		_, err := wait()
		ok(t, err)
	}},
	{"a cached answer ends with its record", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", Retain: 100 * time.Millisecond}
		g, j := process[string](t, w, p), work("a", 0)
		do(t, g, key, j, "a")
		time.Sleep(101 * time.Millisecond)
		do(t, g, key, j, "a")
		j.want(t, 2)
	}},
	{"every caller gets its own copy of the result", func(t *testing.T, w *world) {
		g := process[[]string](t, w, order)
		first, err := g.Do(t.Context(), key, func(context.Context) ([]string, error) { return []string{"a"}, nil })
		ok(t, err)
		first[0] = "changed"
		again, err := g.Do(t.Context(), key, nil)
		ok(t, err)
		if again[0] != "a" {
			t.Errorf("the second caller got %q, want a", again[0])
		}
		again[0] = "changed"
		third, err := g.Do(t.Context(), key, nil)
		if err != nil || third[0] != "a" {
			t.Errorf("the third caller got %q, %v; want a", third, err)
		}
	}},
	{"the cache of results is bounded in bytes", func(t *testing.T, w *world) {
		g := process[string](t, w, order)
		big := strings.Repeat("x", 1<<19)
		before := claims(w)
		for i := range 100 {
			do(t, g, guard.Of("ann", string(rune('a'+i))), work(big, 0), big)
		}
		do(t, g, guard.Of("ann", "a"), work(big, 0), big) // no longer in the cache
		if n := claims(w) - before; n != 101 {
			t.Errorf("the engine was asked %d times, want 101", n)
		}
	}},
	{"a caller that gives up while asking does not fail the others", func(t *testing.T, w *world) {
		g, j := process[string](t, w, order), work("a", 0)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaim, Do: enginetest.Hang, Times: 1})
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		go func() { _, err := g.Do(ctx, key, j.do); left <- err }()
		synctest.Wait()
		stays := startCall(t, g, key, j)
		cancel(errNo)
		wantErr(t, <-left, errNo)
		if v, err := stays(); err != nil || v != "a" {
			t.Errorf("the other caller got %q, %v; want a", v, err)
		}
	}},
}
