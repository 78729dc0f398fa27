package guard_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var patient = guard.Policy{Name: "order", OnDuplicate: guard.Wait}

var waitingLaws = []law{
	{"a waiting duplicate gets the result at once, in this process and in others", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 2*time.Second)
		start := time.Now()
		wait := begun(t, g, key, j)
		together(10, func(i int) {
			do(t, []*guard.Guard[string]{g, other}[i%2], key, j, "a")
			if d := time.Since(start); d != 2*time.Second {
				t.Errorf("it had the result after %v, want 2s", d)
			}
		})
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"a duplicate waits no longer than Wait (T10)", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 10*time.Second)
		wait := begun(t, g, key, j)
		together(4, func(i int) {
			start := time.Now()
			d := refused(t, []*guard.Guard[string]{g, other}[i%2], key, j)
			if !d.Running {
				t.Errorf("refused with %+v", d)
			}
			about(t, "the wait", time.Since(start), guard.DefaultWait, 10*time.Millisecond)
		})
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"a lost notification is repaired by polling", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, patient), process[string](t, w, patient), work("a", time.Second)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		start := time.Now()
		wait := begun(t, g, key, j)
		do(t, other, key, j, "a")
		if d := time.Since(start); d > 2100*time.Millisecond {
			t.Errorf("it had the result after %v", d)
		}
		_, err := wait()
		ok(t, err)
	}},
	{"without a kept result, waiting duplicates run one after the other", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Free, OnDuplicate: guard.Wait, Wait: time.Minute}
		g, other, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Second)
		start := time.Now()
		together(6, func(i int) { do(t, []*guard.Guard[string]{g, other}[i%2], key, j, "a") })
		j.want(t, 6)
		if d := time.Since(start); d < 6*time.Second || d > 10*time.Second {
			t.Errorf("six runs took %v, want little more than 6s", d)
		}
	}},
	{"a waiter for another process keeps waiting when an earlier waiter gives up", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 4500*time.Millisecond)
		wait := begun(t, g, key, j)
		first := begun(t, other, key, j)
		time.Sleep(time.Second)
		second := begun(t, other, key, j)
		_, err := first()
		wantErr(t, err, guard.ErrDuplicate)
		time.Sleep(500 * time.Millisecond)
		third := begun(t, other, key, j)
		_, err = second()
		wantErr(t, err, guard.ErrDuplicate)
		if v, err := third(); err != nil || v != "a" {
			t.Errorf("the third got %q, %v", v, err)
		}
		_, err = wait()
		ok(t, err)
	}},
	{"a waiter that gives up affects neither the work nor the other waiters", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 2*time.Second)
		wait := begun(t, g, key, j)
		for _, g := range []*guard.Guard[string]{g, other} {
			ctx, cancel := context.WithCancelCause(t.Context())
			left := make(chan error, 1)
			go func() { _, err := g.Do(ctx, key, j.do); left <- err }()
			synctest.Wait()
			stays := begun(t, g, key, j)
			start := time.Now()
			cancel(errNo)
			wantErr(t, <-left, errNo)
			if d := time.Since(start); d > 0 {
				t.Errorf("it left after %v", d)
			}
			defer func() {
				if v, err := stays(); err != nil || v != "a" {
					t.Errorf("the other waiter got %q, %v", v, err)
				}
			}()
		}
		v, err := wait()
		if err != nil || v != "a" {
			t.Errorf("the running call got %q, %v", v, err)
		}
		j.want(t, 1)
	}},
	{"with Rerun a waiter takes over from a dead process, and not before its lease expires", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnUnknown: guard.Rerun, OnDuplicate: guard.Wait, Wait: time.Minute}
		dead, g, j := remote[string](t, w, p), process[string](t, w, p), work("a", 0)
		_, c := begin(t, dead, key)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		start := time.Now()
		do(t, g, key, j, "a")
		about(t, "the wait", time.Since(start), guard.DefaultLease, 50*time.Millisecond)
		wantErr(t, c.Complete("late"), errLost)
		do(t, g, key, j, "a")
	}},
	{"a waiter learns that the engine is down when the other process's lease may have expired", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Hour}
		g, other, j := on[string](t, w, w.memory, p), process[string](t, w, p), work("a", 2*time.Minute)
		wait := begun(t, g, key, j)
		cut(w, enginetest.OpClaimRenew)
		start := time.Now()
		time.AfterFunc(time.Millisecond, func() { cut(w) })
		fails(t, other, key, j, guard.ErrDown)
		about(t, "the wait", time.Since(start), guard.DefaultLease, 3*time.Second)
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"the number of waiters is bounded, per key and in total", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}, guard.MaxWaiting(2, 3))
		for round := range 2 {
			j := work("a", 5*time.Second)
			one, two := guard.Of("ann", fmt.Sprint("one", round)), guard.Of("ann", fmt.Sprint("two", round))
			waits := []func() (string, error){begun(t, g, one, j), begun(t, g, two, j)}
			crowded := func(k guard.Key) {
				t.Helper()
				if d := refused(t, g, k, j); !d.TooManyWaiters || !d.Running {
					t.Errorf("refused with %+v", d)
				}
			}
			waits = append(waits, begun(t, g, one, j), begun(t, g, one, j))
			crowded(one)
			waits = append(waits, begun(t, g, two, j))
			crowded(two)
			for _, wait := range waits {
				if v, err := wait(); err != nil || v != "a" {
					t.Errorf("it got %q, %v", v, err)
				}
			}
		}
	}},
	{"a waiter for another process counts as waiting until it leaves", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}
		busy, g := process[string](t, w, p), process[string](t, w, p, guard.MaxWaiting(2, 3))
		for round := range 2 {
			j := work("a", 5*time.Second)
			var keys []guard.Key
			var waits []func() (string, error)
			for _, id := range []string{"one", "two", "three"} {
				k := guard.Of("ann", fmt.Sprint(id, round))
				keys, waits = append(keys, k), append(waits, begun(t, busy, k, j))
			}
			crowded := func(k guard.Key) {
				t.Helper()
				start := time.Now()
				err := fails(t, g, k, j, guard.ErrDuplicate)
				if d, is := err.(*guard.DuplicateError); !is || !d.TooManyWaiters || !d.Running || time.Since(start) > 0 { //nolint:errorlint // as it is
					t.Errorf("refused after %v with %#v", time.Since(start), err)
				}
			}
			waits = append(waits, begun(t, g, keys[0], j), begun(t, g, keys[0], j))
			crowded(keys[0]) // that many wait for it
			ctx, leave := context.WithCancelCause(t.Context())
			left := make(chan error, 1)
			go func() { _, err := g.Do(ctx, keys[1], j.do); left <- err }()
			synctest.Wait()
			crowded(keys[1]) // that many wait in all, and one for this
			crowded(keys[2]) // and none for that
			if n := g.Stats().Waiting; n != 3 {
				t.Errorf("%d wait, want 3", n)
			}
			leave(errNo)
			wantErr(t, <-left, errNo)
			waits = append(waits, begun(t, g, keys[2], j))
			crowded(keys[1])
			for _, wait := range waits {
				if v, err := wait(); err != nil || v != "a" {
					t.Errorf("it got %q, %v", v, err)
				}
			}
			j.want(t, 3)
		}
	}},
	{"one waiter per process asks the engine for all", func(t *testing.T, w *world) {
		g, other, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 2*time.Second)
		wait := begun(t, g, key, j)
		before := w.engine.Calls(enginetest.OpClaim)
		together(100, func(int) { do(t, other, key, j, "a") })
		if n := w.engine.Calls(enginetest.OpClaim) - before; n > 6 {
			t.Errorf("a hundred waiters asked the engine %d times", n)
		}
		_, err := wait()
		ok(t, err)
	}},
}
