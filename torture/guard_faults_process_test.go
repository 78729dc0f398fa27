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

// Rows in which a process with a guard is paused, killed or shut down.
var guardProcessRows = []row{
	{30, "process paused for longer than the lease", "unknown; refused on waking", func(t *testing.T) {
		p := newPost(t, strict(time.Second))
		w := p.employ("guard")
		_ = w.Process.Signal(syscall.SIGSTOP)
		p.wantUnknown(3 * time.Second)
		p.woken(w)
		p.wantState(engine.Unknown)
	}},
	{30, "the same, and the policy is rerun", "done again, with a higher fence; refused on waking", func(t *testing.T) {
		policy := strict(time.Second)
		policy.OnUnknown = guard.Rerun
		p := newPost(t, policy)
		w := p.employ("guard")
		_ = w.Process.Signal(syscall.SIGSTOP)
		var fence uint64
		p.soon(3*time.Second, "the work is done again", func() bool {
			_, err := p.guard.Do(t.Context(), order, func(ctx context.Context) (string, error) {
				fence, _ = guard.Fence(ctx)
				return p.work(ctx)
			})
			return err == nil
		})
		p.woken(w)
		if first := p.steps(w)[0].Fence; fence <= first {
			t.Errorf("the second has fence %d, the first had %d", fence, first)
		}
		p.wantReplay(order, "result 1")
	}},
	{31, "process killed (SIGKILL) while it works", "refused until the lease is over, then unknown", func(t *testing.T) {
		const lease = 1500 * time.Millisecond
		p := newPost(t, strict(lease))
		p.employ("guard").kill()
		killed := time.Now()
		_, err := p.other.Do(t.Context(), order, p.work)
		p.wantErr(err, guard.ErrDuplicate)
		p.wantUnknown(lease + time.Second)
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("unknown after %v, with a lease of %v", d, lease)
		}
		p.wantRuns(0)
	}},
	{31, "the same, and a duplicate waits (rerun)", "its turn when the lease is over", func(t *testing.T) {
		const lease = 1500 * time.Millisecond
		policy := strict(lease)
		policy.OnUnknown, policy.OnDuplicate, policy.Wait = guard.Rerun, guard.Wait, 10*time.Second
		p := newPost(t, policy)
		p.employ("guard").kill()
		killed := time.Now()
		p.do(p.guard, order)
		if d := time.Since(killed); d > lease+time.Second {
			t.Errorf("its turn after %v, with a lease of %v", d, lease)
		}
	}},
	{32, "process killed between effect and settle", "unknown, and not done again", func(t *testing.T) {
		p := newPost(t, strict(time.Second))
		p.employ("crash").kill()
		p.wantUnknown(3 * time.Second)
		p.wantRuns(0)
	}},
	{32, "the same, and there is a resolver", "finds the effect: everybody has the result", func(t *testing.T) {
		policy := strict(time.Second)
		policy.OnUnknown = guard.Resolve
		p := &post{place: newPlace(t), policy: policy}
		w := p.employUnder("crash", strict(time.Second))
		asked := 0
		p.other = newGuard(t, p.place.other, policy, guard.Resolver(func(context.Context, guard.Key) (string, bool, error) {
			asked++
			steps, err := entries[step](w.job.Journal)
			return fmt.Sprint("found ", len(steps)), len(steps) > 0, err
		}))
		w.kill()
		p.soon(3*time.Second, "it is resolved", func() bool {
			result, err := p.other.Do(t.Context(), order, p.work)
			return err == nil && result == "found 1"
		})
		p.wantState(engine.Done)
		if p.wantRuns(0); asked != 1 {
			t.Errorf("the resolver was asked %d times", asked)
		}
	}},
	{33, "process killed after settle, before its answer", "replayed to later callers", func(t *testing.T) {
		p := newPost(t, strict(30*time.Second))
		w := p.employ("store")
		p.soon(20*time.Second, "the result is stored", func() bool { return p.steps(w)[len(p.steps(w))-1].Did == settled })
		w.kill()
		p.wantReplay(order, "from child")
		p.wantRuns(0)
	}},
	{39, "shutdown (SIGTERM)", "nothing new; who finishes is stored, the others unknown", func(t *testing.T) {
		const keys = 10
		p := newPost(t, strict(3*time.Second))
		w := p.start(job{Do: "guard all", Policy: p.policy, Goroutines: keys})
		p.soon(20*time.Second, "the process has its claims", func() bool { return len(p.steps(w)) == keys })
		_ = w.Process.Signal(syscall.SIGTERM)
		p.ended(w)
		for i := range keys {
			want := []engine.State{engine.Done, engine.Unknown}[i%2]
			p.soon(5*time.Second, fmt.Sprint(i, " is ", want), func() bool {
				return p.look(p.other, guard.Of("ada", fmt.Sprint(w.job.Key, "-", i))).State == want
			})
		}
		if _, err := p.other.Do(t.Context(), guard.Of("ada", "late"), p.work); err != nil {
			t.Errorf("a key of a closed guard is %v", err)
		}
	}},
}

// start has a process with a guard.
func (p *post) start(j job) *worker {
	p.t.Helper()
	j.Redis, j.Process, j.Key, j.Journal = p.server.URL(), "child", order.ID, filepath.Join(p.t.TempDir(), "journal")
	return start(p.t, j)
}

// employ has a process do a job, and waits until it is at it.
func (p *post) employ(do string) *worker {
	p.t.Helper()
	return p.employUnder(do, p.policy)
}

func (p *post) employUnder(do string, policy guard.Policy) *worker {
	p.t.Helper()
	w := p.start(job{Do: do, Policy: policy})
	p.soon(20*time.Second, "the process is at work", func() bool { return len(p.steps(w)) > 0 })
	return w
}

func (p *post) steps(w *worker) []step {
	p.t.Helper()
	steps, err := entries[step](w.job.Journal)
	if err != nil {
		p.t.Fatal(err)
	}
	return steps
}

// woken lets a stopped process go on, which must notice that its claim is lost.
func (p *post) woken(w *worker) {
	p.t.Helper()
	_ = w.Process.Signal(syscall.SIGCONT)
	start := time.Now()
	p.ended(w)
	if d := time.Since(start); d > 2*time.Second {
		p.t.Errorf("noticed %v after waking", d)
	}
	if steps := p.steps(w); steps[len(steps)-1].Did != lost {
		p.t.Errorf("it did %v", steps)
	}
}

// ended waits until a process has ended well, and kills it if it does not.
func (p *post) ended(w *worker) {
	p.t.Helper()
	late := time.AfterFunc(20*time.Second, func() { _ = w.Process.Kill() })
	defer late.Stop()
	if err := w.Wait(); err != nil {
		p.t.Fatalf("process %s: %v", w.job.Process, err)
	}
}
