package torture

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/guard"
)

// Rows in which a guard process is paused, killed or shut down.
var guardProcessRows = []row{
	{30, "process paused for longer than the lease", "the outcome is unknown; the process's result is refused when it wakes", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(time.Second))
		w := f.startAndWait("guard")
		_ = w.Process.Signal(syscall.SIGSTOP)
		f.wantUnknown(3 * time.Second)
		f.resumeAndWantLost(w)
		f.wantState(engine.Unknown)
	}},
	{30, "process paused for longer than the lease (rerun)", "the work runs again with a higher fence; the process's result is refused when it wakes", func(t *testing.T) {
		policy := strictPolicy(time.Second)
		policy.OnUnknown = guard.Rerun
		f := newGuardFixture(t, policy)
		w := f.startAndWait("guard")
		_ = w.Process.Signal(syscall.SIGSTOP)
		var fence uint64
		f.eventually(3*time.Second, "the work runs again", func() bool {
			_, err := f.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				fence, _ = guard.Fence(ctx)
				return f.work(ctx)
			})
			return err == nil
		})
		f.resumeAndWantLost(w)
		if first := f.steps(w)[0].Fence; fence <= first {
			t.Errorf("the second run has fence %d, want one above %d", fence, first)
		}
		f.wantReplay(order, "result 1")
	}},
	{31, "process killed (SIGKILL) while it works", "duplicates are refused until the lease expires; then the outcome is unknown", func(t *testing.T) {
		const lease = 1500 * time.Millisecond
		f := newGuardFixture(t, strictPolicy(lease))
		f.startAndWait("guard").kill()
		killed := time.Now()
		_, err := f.other.Do(t.Context(), order, f.work)
		f.wantErr(err, guard.ErrDuplicate)
		f.wantUnknown(lease + time.Second)
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("the outcome was unknown after %v, want at most the lease of %v and 1s", d, lease)
		}
		f.wantRuns(0)
	}},
	{31, "process killed while a duplicate waits (rerun)", "the duplicate runs when the lease expires", func(t *testing.T) {
		const lease = 1500 * time.Millisecond
		policy := strictPolicy(lease)
		policy.OnUnknown, policy.OnDuplicate, policy.Wait = guard.Rerun, guard.Wait, 10*time.Second
		f := newGuardFixture(t, policy)
		f.startAndWait("guard").kill()
		killed := time.Now()
		f.do(f.guard, order)
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("the duplicate ran after %v, want at most the lease of %v and 1s", d, lease)
		}
	}},
	{32, "process killed between effect and settle", "the outcome is unknown; the work does not run again", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(time.Second))
		f.startAndWait("crash").kill()
		f.wantUnknown(3 * time.Second)
		f.wantRuns(0)
	}},
	{32, "process killed between effect and settle (resolve)", "the resolver finds the effect; all callers get the result", func(t *testing.T) {
		policy := strictPolicy(time.Second)
		policy.OnUnknown = guard.Resolve
		f := &guardFixture{fixture: newFixture(t), policy: policy}
		w := f.startAndWaitWith("crash", strictPolicy(time.Second))
		calls := 0
		f.other = newGuard(t, f.fixture.other, policy, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) {
			calls++
			steps, err := readEntries[step](w.job.Journal)
			return fmt.Sprint("found ", len(steps)), len(steps) > 0, err
		}))
		w.kill()
		f.eventually(3*time.Second, "the outcome is resolved", func() bool {
			result, err := f.other.Do(t.Context(), order, f.work)
			return err == nil && result == "found 1"
		})
		f.wantState(engine.Done)
		if f.wantRuns(0); calls != 1 {
			t.Errorf("the resolver was called %d times, want 1", calls)
		}
	}},
	{33, "process killed after settle, before it responded", "later callers get the stored result", func(t *testing.T) {
		f := newGuardFixture(t, strictPolicy(30*time.Second))
		w := f.startAndWait("store")
		f.eventually(20*time.Second, "the result is stored", func() bool { return f.steps(w)[len(f.steps(w))-1].Did == settled })
		w.kill()
		f.wantReplay(order, "from child")
		f.wantRuns(0)
	}},
	{39, "shutdown (SIGTERM)", "no new work begins; finished work is stored, and the outcome of the rest is unknown", func(t *testing.T) {
		const keys = 10
		f := newGuardFixture(t, strictPolicy(3*time.Second))
		w := f.startProcess(job{Do: "guard all", Policy: f.policy, Goroutines: keys})
		f.eventually(20*time.Second, "the process has its claims", func() bool { return len(f.steps(w)) == keys })
		_ = w.Process.Signal(syscall.SIGTERM)
		f.waitForExit(w)
		for i := range keys {
			want := []engine.State{engine.Done, engine.Unknown}[i%2]
			f.eventually(5*time.Second, fmt.Sprint(i, " is ", want), func() bool {
				return f.lookup(f.other, guard.Of("ada", fmt.Sprint(w.job.Key, "-", i))).State == want
			})
		}
		if _, err := f.other.Do(t.Context(), guard.Of("ada", "late"), f.work); err != nil {
			t.Errorf("a key that the closed guard had refused: another process got %v, want a run", err)
		}
	}},
}

// startProcess starts a guard process.
func (f *guardFixture) startProcess(j job) *worker {
	f.t.Helper()
	j.Engine, j.Process, j.Key, j.Journal = f.server.URL(), "child", order.ID, filepath.Join(f.t.TempDir(), "journal")
	return start(f.t, j)
}

// startAndWait starts a guard process and waits for its first step.
func (f *guardFixture) startAndWait(do string) *worker {
	f.t.Helper()
	return f.startAndWaitWith(do, f.policy)
}

func (f *guardFixture) startAndWaitWith(do string, policy guard.Policy) *worker {
	f.t.Helper()
	w := f.startProcess(job{Do: do, Policy: policy})
	f.eventually(20*time.Second, "the process has started", func() bool { return len(f.steps(w)) > 0 })
	return w
}

func (f *guardFixture) steps(w *worker) []step {
	f.t.Helper()
	steps, err := readEntries[step](w.job.Journal)
	if err != nil {
		f.t.Fatal(err)
	}
	return steps
}

// resumeAndWantLost resumes a stopped process, which must notice that its claim is lost.
func (f *guardFixture) resumeAndWantLost(w *worker) {
	f.t.Helper()
	_ = w.Process.Signal(syscall.SIGCONT)
	start := time.Now()
	f.waitForExit(w)
	if d := time.Since(start); d > 2*time.Second {
		f.t.Errorf("the process noticed the loss %v after waking, want at most 2s", d)
	}
	if steps := f.steps(w); steps[len(steps)-1].Did != lost {
		f.t.Errorf("the last step is not %q: %v", lost, steps)
	}
}

// waitForExit waits until a process exits with code 0. After 20s it kills the process.
func (f *guardFixture) waitForExit(w *worker) {
	f.t.Helper()
	timeout := time.AfterFunc(20*time.Second, func() { _ = w.Process.Kill() })
	defer timeout.Stop()
	if err := w.Wait(); err != nil {
		f.t.Fatalf("process %s: %v", w.job.Process, err)
	}
}
