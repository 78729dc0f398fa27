package guard_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
)

var windowLaws = []law{
	{"repeats are refused until the window ends, even if the work is done (S9)", func(t *testing.T, w *world) {
		for _, p := range []guard.Policy{guard.Click("click"), guard.Form("form"), guard.Payment("pay"), guard.Export("export")} {
			g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", 200*time.Millisecond)
			do(t, g, key, j, "a")
			d := refused(t, g, key, j)
			if d.Running || d.Status != 429 {
				t.Errorf("%s: refused with %+v, want it done, with status 429", p.Name, d)
			}
			wantAbout(t, p.Name+": the time left", d.RetryAfter, p.Window-200*time.Millisecond, time.Millisecond)
			time.Sleep(p.Window - 201*time.Millisecond)
			refused(t, g, key, j)
			refused(t, otherProcess, key, j)
			time.Sleep(2 * time.Millisecond)
			do(t, otherProcess, key, j, "a")
			j.want(t, 2)
		}
	}},
	{"repeats are refused for as long as the work takes, if it outlasts the window (L7)", func(t *testing.T, w *world) {
		p := guard.Policy{Name: "timeout", After: guard.Window, Window: 2 * time.Second, Lease: 2 * time.Second}
		g, otherProcess, j := process[string](t, w, p), process[string](t, w, p), work("a", 3*time.Second)
		wait := startCall(t, g, key, j)
		time.Sleep(2500 * time.Millisecond)
		if d := refused(t, g, key, j); !d.Running {
			t.Errorf("refused with %+v, want it running", d)
		}
		refused(t, otherProcess, key, j)
		_, err := wait()
		ok(t, err)
		do(t, otherProcess, key, j, "a")
		j.want(t, 2)
	}},
	{"a process that dies leaves repeats refused until the window ends", func(t *testing.T, w *world) {
		p := guard.Export("export")
		g, otherProcess, j := remote[string](t, w, p), process[string](t, w, p), work("a", 0)
		_, c := begin(t, g, key)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		time.Sleep(p.Window - time.Millisecond)
		refused(t, otherProcess, key, j)
		time.Sleep(2 * time.Millisecond)
		do(t, otherProcess, key, j, "a")
		wantErr(t, c.Complete("late"), errLost)
	}},
	{"a process that dies late does not extend the window", func(t *testing.T, w *world) {
		p := guard.Export("export")
		g, otherProcess, j := remote[string](t, w, p), process[string](t, w, p), work("a", 0)
		_, c := begin(t, g, key)
		time.Sleep(100 * time.Second) // renewed meanwhile
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		time.Sleep(p.Window - 101*time.Second)
		refused(t, otherProcess, key, j)
		time.Sleep(2 * time.Second)
		do(t, otherProcess, key, j, "a")
		wantErr(t, c.Complete("late"), errLost)
	}},
	{"an outage shorter than the window does not end the claim", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Export("export")), work("a", time.Minute)
		w.engine.Inject(enginetest.Fault{Op: enginetest.OpClaimRenew, Do: enginetest.Refuse})
		do(t, g, key, j, "a")
	}},
	{"work that fails frees the window at once (P6)", func(t *testing.T, w *world) {
		g, j := process[string](t, w, guard.Form("form")), &job{err: errNo}
		fails(t, g, key, j, errNo)
		fails(t, g, key, j, errNo)
		j.want(t, 2)
	}},
	{"a waiter in a window is refused when the work is done", func(t *testing.T, w *world) {
		p := guard.Form("form")
		p.OnDuplicate = guard.Wait
		g, j := process[string](t, w, p), work("a", time.Second)
		wait := startCall(t, g, key, j)
		start := time.Now()
		if d := refused(t, g, key, j); d.Running {
			t.Errorf("refused with %+v, want it done", d)
		}
		wantAbout(t, "the wait", time.Since(start), time.Second, time.Millisecond)
		_, err := wait()
		ok(t, err)
	}},
	{"the time left of running work is the rest of the window", func(t *testing.T, w *world) {
		g, otherProcess, j := process[string](t, w, guard.Form("form")), process[string](t, w, guard.Form("form")), work("a", time.Second)
		w.memory.Step(time.Hour) // the engine's clock differs from the process's
		wait := startCall(t, g, key, j)
		time.Sleep(300 * time.Millisecond)
		for left := 4700 * time.Millisecond; left > 4200*time.Millisecond; left -= 100 * time.Millisecond {
			wantAbout(t, "the time left", refused(t, g, key, j).RetryAfter, left, 10*time.Millisecond)
			wantAbout(t, "the time left", refused(t, otherProcess, key, j).RetryAfter, left, 10*time.Millisecond)
			time.Sleep(100 * time.Millisecond)
		}
		_, err := wait()
		ok(t, err)
	}},
}
