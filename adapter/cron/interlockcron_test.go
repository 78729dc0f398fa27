package interlockcron_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/cron"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// A process is a cron with a client of its own.
type process struct {
	*interlockcron.Jobs

	cron   *cron.Cron
	client *interlock.Client
	log    *log
}

// start starts a process on an engine. Its jobs begin late after each activation, like those
// of a process whose clock is behind.
func start(t *testing.T, e engine.Engine, late time.Duration) *process {
	t.Helper()
	behind := func(j cron.Job) cron.Job {
		return cron.FuncJob(func() { time.Sleep(late); j.Run() })
	}
	p := &process{client: interlock.New(e), log: &log{}}
	p.cron = cron.New(cron.WithLogger(cron.DiscardLogger), cron.WithChain(cron.Recover(p.log), behind))
	p.Jobs = interlockcron.New(p.cron, p.client, p.log)
	p.cron.Start()
	t.Cleanup(func() {
		<-p.cron.Stop().Done()
		_ = p.client.Close(context.Background())
	})
	return p
}

// add adds a job to each process.
func add(t *testing.T, processes []*process, spec string, p guard.Policy, fn func(context.Context) error) {
	t.Helper()
	for _, x := range processes {
		if _, err := x.AddFunc(spec, p, fn); err != nil {
			t.Fatal(err)
		}
	}
}

// three starts three processes with different clocks.
func three(t *testing.T, e engine.Engine) []*process {
	t.Helper()
	return []*process{start(t, e, 0), start(t, e, time.Second), start(t, e, 7*time.Second)}
}

// A log is a cron.Logger.
type log struct {
	mu           sync.Mutex
	skips, fails []string
}

func (l *log) Info(msg string, keysAndValues ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skips = append(l.skips, fmt.Sprint(append([]any{msg}, keysAndValues...)...))
}

func (l *log) Error(err error, msg string, keysAndValues ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails = append(l.fails, fmt.Sprint(append([]any{msg, ": ", err, " "}, keysAndValues...)...))
}

// counts checks how many skips and errors were logged.
func (l *log) counts(t *testing.T, skips, fails int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.skips) != skips || len(l.fails) != fails {
		t.Errorf("logged %d skips and %d errors, want %d and %d:\n%s", len(l.skips), len(l.fails), skips, fails, strings.Join(append(l.skips, l.fails...), "\n"))
	}
}

// pass lets time pass, and waits until all goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// down refuses the calls of guards until Heal.
func down(e *enginetest.Faulty) {
	for _, op := range []enginetest.Op{interlocktest.Claim, interlocktest.RenewClaim, interlocktest.Settle, interlocktest.Lookup} {
		e.Inject(enginetest.Fault{Op: op, Do: enginetest.Refuse})
	}
}

var policy = guard.Policy{Name: "report"}

func TestJobs(t *testing.T) {
	for sentence, check := range map[string]func(t *testing.T, e *enginetest.Faulty){
		"three processes with different clocks run a short job once per activation": func(t *testing.T, e *enginetest.Faulty) {
			processes := three(t, e)
			runs := map[string]int{}
			add(t, processes, "* * * * *", policy, func(context.Context) error {
				runs[time.Now().Format("15:04")]++
				time.Sleep(time.Millisecond)
				return nil
			})
			pass(time.Hour + 30*time.Second)
			if len(runs) != 60 {
				t.Errorf("the job ran for %d activations, want 60", len(runs))
			}
			for at, n := range runs {
				if n != 1 {
					t.Errorf("the job ran %d times at %s, want once", n, at)
				}
			}
			processes[0].log.counts(t, 0, 0)
			processes[1].log.counts(t, 60, 0)
			processes[2].log.counts(t, 60, 0)
		},
		"two entries of one name are refused, but a removed entry can be added again": func(t *testing.T, e *enginetest.Faulty) {
			p := start(t, e, 0)
			var mu sync.Mutex // two jobs run in one minute
			runs := map[string]int{}
			job := func(name string) func(context.Context) error {
				return func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					runs[name]++
					return nil
				}
			}
			id, err := p.AddFunc("* * * * *", policy, job("first"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.AddFunc("* * * * *", policy, job("second")); err == nil || !strings.Contains(err.Error(), "\"report\"") {
				t.Errorf("the second entry: %v, want an error with the name", err)
			}
			if _, err := p.AddFunc("no spec", guard.Policy{Name: "typo"}, job("typo")); err == nil {
				t.Error("a wrong spec was accepted")
			}
			if _, err := p.AddFunc("* * * * *", guard.Policy{Name: "typo"}, job("other")); err != nil {
				t.Errorf("the name of a wrong spec is taken: %v", err)
			}
			pass(10 * time.Minute)
			p.cron.Remove(id)
			if _, err := p.AddFunc("* * * * *", policy, job("again")); err != nil {
				t.Error(err)
			}
			pass(10 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if runs["first"] != 10 || runs["again"] != 10 || runs["other"] != 20 {
				t.Errorf("the runs are %v, want 10, 10 and 20", runs)
			}
		},
		"a lock alone runs a short job in each process: this is why activations are guarded": func(t *testing.T, e *enginetest.Faulty) {
			processes := three(t, e)
			runs := interlocktest.Count(t, "the job")
			for _, p := range processes {
				skip := interlockcron.SkipIfStillRunning(p.client.Mutex("job:report"), p.log)
				if _, err := p.cron.AddJob("* * * * *", skip(cron.FuncJob(runs.Mark))); err != nil {
					t.Fatal(err)
				}
			}
			pass(time.Minute + 30*time.Second)
			if runs.N() < 3 {
				t.Errorf("the job ran %d times, want 3", runs.N())
			}
		},
		"a process that dies while it runs the job blocks no later activation": func(t *testing.T, e *enginetest.Faulty) {
			dying := enginetest.NewFaulty(e)
			processes := []*process{start(t, dying, 0), start(t, e, 5*time.Second), start(t, e, 40*time.Second)}
			var runs []string
			add(t, processes, "* * * * *", policy, func(ctx context.Context) error {
				runs = append(runs, time.Now().Format("15:04:05"))
				if len(runs) == 1 {
					down(dying)
					<-ctx.Done()
				}
				return ctx.Err()
			})
			pass(3*time.Minute - 10*time.Second)
			if got := fmt.Sprint(runs); got != "[00:01:00 00:02:05]" {
				t.Errorf("the job ran at %s, want at 00:01:00 and at 00:02:05", got)
			}
			processes[1].log.counts(t, 1, 0) // the job was still running, as far as it knew
			processes[2].log.counts(t, 1, 1) // the outcome was unknown, and then the second activation was done
			if !strings.Contains(strings.Join(processes[2].log.fails, ""), "did not run") {
				t.Errorf("logged %q, want that the job did not run", processes[2].log.fails)
			}
			dying.Heal()
		},
		"a job that fails does not run again for the same activation": func(t *testing.T, e *enginetest.Faulty) {
			processes := three(t, e)
			runs := interlocktest.Count(t, "the job")
			add(t, processes, "* * * * *", policy, func(context.Context) error {
				runs.Mark()
				return errors.New("no paper")
			})
			pass(time.Minute + 30*time.Second)
			runs.Once()
			processes[0].log.counts(t, 0, 1)
			processes[2].log.counts(t, 1, 0)
		},
		"a job that panics does not run again for the same activation, and runs at the next": func(t *testing.T, e *enginetest.Faulty) {
			processes := three(t, e)
			runs := interlocktest.Count(t, "the job")
			add(t, processes, "* * * * *", policy, func(context.Context) error {
				runs.Mark()
				panic("bug")
			})
			pass(2*time.Minute + 30*time.Second)
			runs.Times(2)
		},
		"while the engine is down the job does not run, and the log says so": func(t *testing.T, e *enginetest.Faulty) {
			processes := three(t, e)
			runs := interlocktest.Count(t, "the job")
			add(t, processes, "* * * * *", policy, func(context.Context) error { runs.Mark(); return nil })
			down(e)
			pass(time.Minute + 30*time.Second)
			runs.Never()
			for _, p := range processes {
				p.log.counts(t, 0, 1)
				if !strings.Contains(p.log.fails[0], "job did not run") || !strings.Contains(p.log.fails[0], "down") {
					t.Errorf("logged %q, want that the job did not run because the engine is down", p.log.fails[0])
				}
			}
			e.Heal()
			pass(time.Minute)
			runs.Once()
		},
		"a long job is skipped while it runs in any process": func(t *testing.T, e *enginetest.Faulty) {
			processes := three(t, e)
			runs := interlocktest.Count(t, "the job")
			for _, p := range processes {
				job := interlockcron.SkipIfStillRunning(p.client.Mutex("job:report"), p.log)(interlockcron.Func(func(ctx context.Context) error {
					defer runs.Enter()()
					if _, ok := interlock.Fence(ctx); !ok {
						t.Error("the context has no fence of the lock")
					}
					if _, ok := guard.Fence(ctx); !ok {
						t.Error("the context has no fence of the claim")
					}
					time.Sleep(150 * time.Second)
					return nil
				}))
				if _, err := p.AddJob("* * * * *", policy, job); err != nil {
					t.Fatal(err)
				}
			}
			pass(9*time.Minute + 30*time.Second) // runs at 1, 4 and 7 minutes
			runs.Alone()
			runs.Times(3)
		},
		"the context ends when the lock is taken away": func(t *testing.T, e *enginetest.Faulty) {
			p := start(t, e, 0)
			var cause error
			job := interlockcron.SkipIfStillRunning(p.client.Mutex("job:report"), p.log)(interlockcron.Func(func(ctx context.Context) error {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return ctx.Err()
			}))
			if _, err := p.AddJob("* * * * *", policy, job); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute + time.Second)
			if _, err := p.client.ForceRelease(t.Context(), "job:report"); err != nil {
				t.Error(err)
			}
			pass(time.Second)
			if !errors.Is(cause, interlock.ErrRevoked) {
				t.Errorf("the context ended with %v, want ErrRevoked", cause)
			}
			p.log.counts(t, 0, 1)
		},
		"with @every the job runs once per interval": func(t *testing.T, e *enginetest.Faulty) {
			var processes []*process
			runs := interlocktest.Count(t, "the job")
			for range 3 {
				time.Sleep(7 * time.Second) // the processes start one after the other
				p := start(t, e, 0)
				processes = append(processes, p)
				add(t, []*process{p}, "@every 1m", policy, func(context.Context) error { runs.Mark(); return nil })
			}
			pass(10 * time.Minute)
			runs.Times(10)
			_ = processes
		},
		"an activation in another time zone is the same activation": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			for _, zone := range []*time.Location{time.UTC, time.FixedZone("Tokyo", 9*3600)} {
				client := interlock.New(e)
				c := cron.New(cron.WithLogger(cron.DiscardLogger), cron.WithLocation(zone))
				if _, err := interlockcron.New(c, client, cron.DiscardLogger).AddFunc("@hourly", policy, func(context.Context) error { runs.Mark(); return nil }); err != nil {
					t.Fatal(err)
				}
				c.Start()
				t.Cleanup(func() { <-c.Stop().Done(); _ = client.Close(context.Background()) })
			}
			pass(3*time.Hour + time.Minute)
			runs.Times(3)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := interlocktest.New(t)
				e := enginetest.NewFaulty(w.Engine())
				check(t, e)
				e.Heal()
			})
		})
	}
}

func TestErrors(t *testing.T) {
	jobs := interlockcron.New(cron.New(), interlock.New(nil), cron.DiscardLogger)
	for name, c := range map[string]struct {
		spec   string
		policy guard.Policy
		want   string
	}{
		"a spec that cron refuses": {"every night", policy, "expected exactly 5 fields"},
		"a policy without a name":  {"@daily", guard.Policy{}, "Name"},
		"a scope with users":       {"@daily", guard.Policy{Name: "a", Scope: guard.PerUser}, "a job has no user"},
		"a guard that forgets":     {"@daily", guard.Policy{Name: "b", After: guard.Free}, "clock is late"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := jobs.AddFunc(c.spec, c.policy, func(context.Context) error { return nil }); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("AddFunc returned %v, want %q", err, c.want)
			}
		})
	}
}
