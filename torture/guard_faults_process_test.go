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
	{30, "process paused for longer than the lease", "unknown; its result is refused on waking", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(time.Second))
		w := p.startAndWait("guard")
		_ = w.Process.Signal(syscall.SIGSTOP)
		p.wantUnknown(3 * time.Second)
		p.resumeAndWantLost(w)
		p.wantState(engine.Unknown)
	}},
	{30, "process paused for longer than the lease (rerun)", "run again with a higher fence; its result is refused on waking", func(t *testing.T) {
		policy := strictPolicy(time.Second)
		policy.OnUnknown = guard.Rerun
		p := newGuardFixture(t, policy)
		w := p.startAndWait("guard")
		_ = w.Process.Signal(syscall.SIGSTOP)
		var fence uint64
		p.eventually(3*time.Second, "the work runs again", func() bool {
			_, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				fence, _ = guard.Fence(ctx)
				return p.work(ctx)
			})
			return err == nil
		})
		p.resumeAndWantLost(w)
		if first := p.steps(w)[0].Fence; fence <= first {
			t.Errorf("the second run has fence %d, the first had %d", fence, first)
		}
		p.wantReplay(order, "result 1")
	}},
	{31, "process killed (SIGKILL) while it works", "refused until the lease expires, then unknown", func(t *testing.T) {
		const lease = 1500 * time.Millisecond
		p := newGuardFixture(t, strictPolicy(lease))
		p.startAndWait("guard").kill()
		killed := time.Now()
		_, err := p.other.Do(t.Context(), order, p.work)
		p.wantErr(err, guard.ErrDuplicate)
		p.wantUnknown(lease + time.Second)
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("unknown after %v with a lease of %v", d, lease)
		}
		p.wantRuns(0)
	}},
	{31, "process killed while a duplicate waits (rerun)", "the duplicate runs when the lease expires", func(t *testing.T) {
		const lease = 1500 * time.Millisecond
		policy := strictPolicy(lease)
		policy.OnUnknown, policy.OnDuplicate, policy.Wait = guard.Rerun, guard.Wait, 10*time.Second
		p := newGuardFixture(t, policy)
		p.startAndWait("guard").kill()
		killed := time.Now()
		p.do(p.guard, order)
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("the duplicate ran after %v with a lease of %v", d, lease)
		}
	}},
	{32, "process killed between effect and settle", "unknown; not run again", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(time.Second))
		p.startAndWait("crash").kill()
		p.wantUnknown(3 * time.Second)
		p.wantRuns(0)
	}},
	{32, "process killed between effect and settle (resolve)", "the resolver finds the effect; all callers get the result", func(t *testing.T) {
		policy := strictPolicy(time.Second)
		policy.OnUnknown = guard.Resolve
		p := &guardFixture{fixture: newFixture(t), policy: policy}
		w := p.startAndWaitWith("crash", strictPolicy(time.Second))
		calls := 0
		p.other = newGuard(t, p.fixture.other, policy, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) {
			calls++
			steps, err := readEntries[step](w.job.Journal)
			return fmt.Sprint("found ", len(steps)), len(steps) > 0, err
		}))
		w.kill()
		p.eventually(3*time.Second, "the outcome is resolved", func() bool {
			result, err := p.other.Do(t.Context(), order, p.work)
			return err == nil && result == "found 1"
		})
		p.wantState(engine.Done)
		if p.wantRuns(0); calls != 1 {
			t.Errorf("the resolver was called %d times, want 1", calls)
		}
	}},
	{33, "process killed after settle, before it responded", "replayed to later callers", func(t *testing.T) {
		p := newGuardFixture(t, strictPolicy(30*time.Second))
		w := p.startAndWait("store")
		p.eventually(20*time.Second, "the result is stored", func() bool { return p.steps(w)[len(p.steps(w))-1].Did == settled })
		w.kill()
		p.wantReplay(order, "from child")
		p.wantRuns(0)
	}},
	{39, "shutdown (SIGTERM)", "no new work; finished work is stored, the rest is unknown", func(t *testing.T) {
		const keys = 10
		p := newGuardFixture(t, strictPolicy(3*time.Second))
		w := p.startProcess(job{Do: "guard all", Policy: p.policy, Goroutines: keys})
		p.eventually(20*time.Second, "the process has its claims", func() bool { return len(p.steps(w)) == keys })
		_ = w.Process.Signal(syscall.SIGTERM)
		p.waitForExit(w)
		for i := range keys {
			want := []engine.State{engine.Done, engine.Unknown}[i%2]
			p.eventually(5*time.Second, fmt.Sprint(i, " is ", want), func() bool {
				return p.lookup(p.other, guard.Of("ada", fmt.Sprint(w.job.Key, "-", i))).State == want
			})
		}
		if _, err := p.other.Do(t.Context(), guard.Of("ada", "late"), p.work); err != nil {
			t.Errorf("a key that a closed guard refused: %v", err)
		}
	}},
}

// startProcess starts a guard process.
func (p *guardFixture) startProcess(j job) *worker {
	p.t.Helper()
	j.Redis, j.Process, j.Key, j.Journal = p.server.URL(), "child", order.ID, filepath.Join(p.t.TempDir(), "journal")
	return start(p.t, j)
}

// startAndWait starts a guard process and waits for its first step.
func (p *guardFixture) startAndWait(do string) *worker {
	p.t.Helper()
	return p.startAndWaitWith(do, p.policy)
}

func (p *guardFixture) startAndWaitWith(do string, policy guard.Policy) *worker {
	p.t.Helper()
	w := p.startProcess(job{Do: do, Policy: policy})
	p.eventually(20*time.Second, "the process has started", func() bool { return len(p.steps(w)) > 0 })
	return w
}

func (p *guardFixture) steps(w *worker) []step {
	p.t.Helper()
	steps, err := readEntries[step](w.job.Journal)
	if err != nil {
		p.t.Fatal(err)
	}
	return steps
}

// resumeAndWantLost resumes a stopped process, which must notice that its claim is lost.
func (p *guardFixture) resumeAndWantLost(w *worker) {
	p.t.Helper()
	_ = w.Process.Signal(syscall.SIGCONT)
	start := time.Now()
	p.waitForExit(w)
	if d := time.Since(start); d > 2*time.Second {
		p.t.Errorf("the process noticed the loss %v after waking", d)
	}
	if steps := p.steps(w); steps[len(steps)-1].Did != lost {
		p.t.Errorf("the last step is not %q: %v", lost, steps)
	}
}

// waitForExit waits until a process exits with code 0. After 20s it kills the process.
func (p *guardFixture) waitForExit(w *worker) {
	p.t.Helper()
	late := time.AfterFunc(20*time.Second, func() { _ = w.Process.Kill() })
	defer late.Stop()
	if err := w.Wait(); err != nil {
		p.t.Fatalf("process %s: %v", w.job.Process, err)
	}
}
