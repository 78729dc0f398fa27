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
		g, otherProcess, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 2*time.Second)
		start := time.Now()
		wait := startCall(t, g, key, j)
		together(10, func(i int) {
			do(t, []*guard.Guard[string]{g, otherProcess}[i%2], key, j, "a")
			if d := time.Since(start); d != 2*time.Second {
				t.Errorf("the waiter got the result after %v, want 2s", d)
			}
		})
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"a duplicate waits no longer than Wait (T10)", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 10*time.Second)
		wait := startCall(t, g, key, j)
		together(4, func(i int) {
			start := time.Now()
			d := refused(t, []*guard.Guard[string]{g, otherProcess}[i%2], key, j)
			if !d.Running {
				t.Errorf("refused with %+v, want it running", d)
			}
			wantAbout(t, "the wait", time.Since(start), guard.DefaultWait, 10*time.Millisecond)
		})
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"a lost notification is repaired by polling", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, patient), process[string](t, w, patient), work("a", time.Second)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpNotify, Do: enginetest.Mute})
		start := time.Now()
		wait := startCall(t, g, key, j)
		do(t, otherProcess, key, j, "a")
		if d := time.Since(start); d > 2100*time.Millisecond {
			t.Errorf("the waiter got the result after %v, want at most 2.1s", d)
		}
		_, err := wait()
		ok(t, err)
	}},
	{"without a kept result, waiting duplicates run one after the other", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "form", After: guard.Free, OnDuplicate: guard.Wait, Wait: time.Minute}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", time.Second)
		start := time.Now()
		together(6, func(i int) { do(t, []*guard.Guard[string]{g, otherProcess}[i%2], key, j, "a") })
		j.want(t, 6)
		if d := time.Since(start); d < 6*time.Second || d > 10*time.Second {
			t.Errorf("six runs took %v, want little more than 6s", d)
		}
	}},
	{"a waiter for another process keeps waiting when an earlier waiter gives up", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 4500*time.Millisecond)
		wait := startCall(t, g, key, j)
		first := startCall(t, otherProcess, key, j)
		time.Sleep(time.Second)
		second := startCall(t, otherProcess, key, j)
		_, err := first()
		wantErr(t, err, guard.ErrDuplicate)
		time.Sleep(500 * time.Millisecond)
		third := startCall(t, otherProcess, key, j)
		_, err = second()
		wantErr(t, err, guard.ErrDuplicate)
		if v, err := third(); err != nil || v != "a" {
			t.Errorf("the third waiter got %q, %v; want a", v, err)
		}
		_, err = wait()
		ok(t, err)
	}},
	{"a waiter that gives up affects neither the work nor the other waiters", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 2*time.Second)
		wait := startCall(t, g, key, j)
		for _, g := range []*guard.Guard[string]{g, otherProcess} {
			ctx, cancel := context.WithCancelCause(t.Context())
			left := make(chan error, 1)
			go func() { _, err := g.Do(ctx, key, j.do); left <- err }()
			synctest.Wait()
			stays := startCall(t, g, key, j)
			start := time.Now()
			cancel(errNo)
			wantErr(t, <-left, errNo)
			if d := time.Since(start); d > 0 {
				t.Errorf("the canceled waiter returned after %v, want at once", d)
			}
			defer func() {
				if v, err := stays(); err != nil || v != "a" {
					t.Errorf("the other waiter got %q, %v; want a", v, err)
				}
			}()
		}
		v, err := wait()
		if err != nil || v != "a" {
			t.Errorf("the running call got %q, %v; want a", v, err)
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
		wantAbout(t, "the wait", time.Since(start), guard.DefaultLease, 50*time.Millisecond)
		wantErr(t, c.Complete("late"), errLost)
		do(t, g, key, j, "a")
	}},
	{"a waiter learns that the engine is down when the other process's lease may have expired", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Hour}
		g, otherProcess, j := on[string](t, w, w.memory, p), process[string](t, w, p), work("a", 2*time.Minute)
		wait := startCall(t, g, key, j)
		failEngine(w, enginetest.OpClaimRenew)
		start := time.Now()
		time.AfterFunc(time.Millisecond, func() { failEngine(w) })
		fails(t, otherProcess, key, j, guard.ErrDown)
		wantAbout(t, "the wait", time.Since(start), guard.DefaultLease, 3*time.Second)
		_, err := wait()
		ok(t, err)
		j.want(t, 1)
	}},
	{"the number of waiters is bounded, per key and in total", func(t *testing.T, w *world) {
		g := process[string](t, w, guard.Policy{Name: "order", OnDuplicate: guard.Wait, Wait: time.Minute}, guard.MaxWaiting(2, 3))
		for round := range 2 {
			j := work("a", 5*time.Second)
			firstKey, secondKey := guard.Of("ann", fmt.Sprint("one", round)), guard.Of("ann", fmt.Sprint("two", round))
			waits := []func() (string, error){startCall(t, g, firstKey, j), startCall(t, g, secondKey, j)}
			tooMany := func(k guard.Key) {
				t.Helper()
				if d := refused(t, g, k, j); !d.TooManyWaiters || !d.Running {
					t.Errorf("refused with %+v, want too many waiters for running work", d)
				}
			}
			waits = append(waits, startCall(t, g, firstKey, j), startCall(t, g, firstKey, j))
			tooMany(firstKey)
			waits = append(waits, startCall(t, g, secondKey, j))
			tooMany(secondKey)
			for _, wait := range waits {
				if v, err := wait(); err != nil || v != "a" {
					t.Errorf("a call got %q, %v; want a", v, err)
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
				keys, waits = append(keys, k), append(waits, startCall(t, busy, k, j))
			}
			tooMany := func(k guard.Key) {
				t.Helper()
				start := time.Now()
				err := fails(t, g, k, j, guard.ErrDuplicate)
				if d, ok := err.(*guard.DuplicateError); !ok || !d.TooManyWaiters || !d.Running || time.Since(start) > 0 { //nolint:errorlint // not wrapped
					t.Errorf("refused after %v with %#v, want too many waiters at once", time.Since(start), err)
				}
			}
			waits = append(waits, startCall(t, g, keys[0], j), startCall(t, g, keys[0], j))
			tooMany(keys[0]) // two wait for this key
			ctx, leave := context.WithCancelCause(t.Context())
			left := make(chan error, 1)
			go func() { _, err := g.Do(ctx, keys[1], j.do); left <- err }()
			synctest.Wait()
			tooMany(keys[1]) // three wait in total, one of them for this key
			tooMany(keys[2]) // three wait in total, none of them for this key
			if n := g.Stats().Waiting; n != 3 {
				t.Errorf("Waiting = %d, want 3", n)
			}
			leave(errNo)
			wantErr(t, <-left, errNo)
			waits = append(waits, startCall(t, g, keys[2], j))
			tooMany(keys[1])
			for _, wait := range waits {
				if v, err := wait(); err != nil || v != "a" {
					t.Errorf("a call got %q, %v; want a", v, err)
				}
			}
			j.want(t, 3)
		}
	}},
	{"one waiter per process asks the engine for all", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, patient), process[string](t, w, patient), work("a", 2*time.Second)
		wait := startCall(t, g, key, j)
		before := w.engine.Calls(enginetest.OpClaim)
		together(100, func(int) { do(t, otherProcess, key, j, "a") })
		if n := w.engine.Calls(enginetest.OpClaim) - before; n > 6 {
			t.Errorf("a hundred waiters asked the engine %d times, want at most 6", n)
		}
		_, err := wait()
		ok(t, err)
	}},
}
