package interlockgocron_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/adapter/gocron"
	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/enginetest"
	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/interlocktest"
)

// A wrongClock is ahead of the true time.
type wrongClock struct {
	clockwork.Clock

	ahead time.Duration
}

func (c wrongClock) Now() time.Time { return c.Clock.Now().Add(c.ahead) }

// A process is a scheduler with a client of its own.
type process struct {
	t      *testing.T
	clock  wrongClock
	client *interlock.Client

	mu     sync.Mutex
	errors []error // of locks and jobs
}

// offsets are how far the clocks of three processes are ahead.
var offsets = []time.Duration{0, time.Second, 7 * time.Second}

// newProcess returns a process on an engine.
func newProcess(t *testing.T, e engine.Engine, ahead time.Duration) *process {
	t.Helper()
	p := &process{t: t, clock: wrongClock{clockwork.NewRealClock(), ahead}, client: interlock.New(e)}
	t.Cleanup(func() { _ = p.client.Close(context.Background()) })
	return p
}

// start runs a task every minute, as a job named report, until stop is called or the test
// ends.
func (p *process) start(task gocron.Task, opts ...gocron.SchedulerOption) (stop func()) {
	p.t.Helper()
	s, err := gocron.NewScheduler(append(opts, gocron.WithClock(p.clock), gocron.WithLocation(time.UTC), gocron.WithStopTimeout(time.Hour))...)
	if err == nil {
		note := func(_ uuid.UUID, _ string, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.errors = append(p.errors, err)
		}
		_, err = s.NewJob(gocron.CronJob("* * * * *", false), task, gocron.WithName("report"),
			gocron.WithEventListeners(gocron.AfterLockError(note), gocron.AfterJobRunsWithError(note),
				gocron.AfterJobRunsWithPanic(func(uuid.UUID, string, any) {})))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	s.Start()
	stop = sync.OnceFunc(func() { _ = s.Shutdown() })
	p.t.Cleanup(stop)
	return stop
}

// once runs fn every minute in each process, guarded by p.
func once(t *testing.T, processes []*process, p guard.Policy, fn func(context.Context) error) {
	t.Helper()
	for _, x := range processes {
		task, err := interlockgocron.Once(x.client, p, fn)
		if err != nil {
			t.Fatal(err)
		}
		x.start(task)
	}
}

// three returns three processes with different clocks.
func three(t *testing.T, e engine.Engine) (processes []*process) {
	for _, ahead := range offsets {
		processes = append(processes, newProcess(t, e, ahead))
	}
	return processes
}

// pass lets time pass, and waits until all goroutines are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// down refuses the calls of guards and locks until Heal.
func down(e *enginetest.Faulty) {
	for _, op := range []enginetest.Op{interlocktest.Claim, interlocktest.RenewClaim, interlocktest.Settle, interlocktest.Lookup, interlocktest.Acquire, interlocktest.Renew, interlocktest.Release} {
		e.Inject(enginetest.Fault{Op: op, Do: enginetest.Refuse})
	}
}

var policy = guard.Policy{Name: "report", Window: 30 * time.Second}

func TestSchedulers(t *testing.T) {
	for sentence, check := range map[string]func(t *testing.T, e *enginetest.Faulty){
		"Once: three processes with different clocks run a short job once a minute": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			once(t, three(t, e), policy, func(ctx context.Context) error {
				if _, ok := guard.Fence(ctx); !ok {
					t.Error("the context has no fence")
				}
				runs.Mark()
				time.Sleep(time.Millisecond)
				return nil
			})
			pass(time.Hour + 30*time.Second)
			runs.Times(60)
		},
		"Locker: three processes with different clocks run a short job once a minute": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			for _, p := range three(t, e) {
				locker, err := interlockgocron.NewLocker(p.client, 30*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				p.start(gocron.NewTask(func() { runs.Mark(); time.Sleep(time.Millisecond) }), gocron.WithDistributedLocker(locker))
			}
			pass(time.Hour + 30*time.Second)
			runs.Times(60)
		},
		"Locker: a repeat is refused while the job runs, longer than the window": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			for _, p := range three(t, e) {
				locker, err := interlockgocron.NewLocker(p.client, 30*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				p.start(gocron.NewTask(func(ctx context.Context) {
					defer runs.Enter()()
					select {
					case <-time.After(150 * time.Second):
					case <-ctx.Done(): // at the end of the test
					}
				}), gocron.WithDistributedLocker(locker))
			}
			pass(20 * time.Minute)
			runs.Alone()
			if n := runs.N(); n < 6 || n > 8 {
				t.Errorf("the job ran %d times in 20 minutes, want about every third minute", n)
			}
		},
		"Elector: one of three processes runs the job, and another after it has resigned": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			ran := make([]int, 3)
			stops := make([]context.CancelFunc, 3)
			for i, p := range three(t, e) {
				elector := interlockgocron.NewElector(p.client.Leader("jobs"))
				ctx, stop := context.WithCancel(t.Context())
				stops[i] = stop
				go func() { _ = elector.Run(ctx) }()
				p.start(elector.Task(func(ctx context.Context) error {
					if _, ok := interlock.Fence(ctx); !ok {
						t.Error("the context has no fence")
					}
					ran[i]++
					runs.Mark()
					return nil
				}), gocron.WithDistributedElector(elector))
				synctest.Wait()
			}
			pass(10*time.Minute + 30*time.Second)
			runs.Times(10)
			if ran[0] != 10 {
				t.Errorf("the processes ran the job %v times, want the first alone", ran)
			}
			stops[0]()
			pass(10 * time.Minute)
			runs.Times(20)
			if ran[0] != 10 {
				t.Errorf("the first process ran the job %d times, want 10: it led no longer", ran[0])
			}
			stops[1]()
			stops[2]()
		},
		"Elector: the context of a task ends with the leadership, and another process takes over": func(t *testing.T, e *enginetest.Faulty) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			dying := enginetest.NewFaulty(e)
			var causes []error
			ran := make([]int, 2)
			for i, p := range []*process{newProcess(t, dying, 0), newProcess(t, e, 0)} {
				elector := interlockgocron.NewElector(p.client.Leader("jobs"))
				go func() { _ = elector.Run(ctx) }()
				p.start(elector.Task(func(ctx context.Context) error {
					ran[i]++
					if i == 0 {
						down(dying)
						<-ctx.Done()
						causes = append(causes, context.Cause(ctx))
					}
					return nil
				}), gocron.WithDistributedElector(elector))
				synctest.Wait()
			}
			pass(2*time.Minute + 30*time.Second)
			if len(causes) != 1 || !errors.Is(causes[0], interlock.ErrLost) || ran[0] != 1 || ran[1] != 1 {
				t.Errorf("the processes ran the job %v times and the contexts ended with %v, want once each and ErrLost", ran, causes)
			}
			dying.Heal()
		},
		"Elector: a process leads until its last task has returned": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			ctx, stop := context.WithCancel(t.Context())
			for i, p := range []*process{newProcess(t, e, 0), newProcess(t, e, 0)} {
				elector := interlockgocron.NewElector(p.client.Leader("jobs"))
				if i > 0 {
					ctx = t.Context()
				}
				go func() { _ = elector.Run(ctx) }()
				p.start(elector.Task(func(context.Context) error {
					defer runs.Enter()()
					time.Sleep(90 * time.Second) // ignores the context
					return nil
				}), gocron.WithDistributedElector(elector), gocron.WithGlobalJobOptions(gocron.WithSingletonMode(gocron.LimitModeReschedule)))
				synctest.Wait()
			}
			pass(time.Minute + time.Second) // the first process runs the job until 2:30
			stop()
			pass(2*time.Minute + time.Second) // the second runs it from 3:00
			runs.Times(2)
			runs.Alone()
			pass(100 * time.Second)
		},
		"Elector: the context of a task ends with the scheduler": func(t *testing.T, e *enginetest.Faulty) {
			p := newProcess(t, e, 0)
			elector := interlockgocron.NewElector(p.client.Leader("jobs"))
			go func() { _ = elector.Run(t.Context()) }()
			ended := interlocktest.Count(t, "the end of the job")
			stop := p.start(elector.Task(func(ctx context.Context) error {
				<-ctx.Done()
				if ctx.Err() != nil && elector.IsLeader(ctx) == nil {
					ended.Mark()
				}
				return nil
			}), gocron.WithDistributedElector(elector))
			pass(time.Minute + 30*time.Second)
			ended.Never()
			stop()
			ended.Once()
		},
		"a process that dies while it runs the job blocks no later run": func(t *testing.T, e *enginetest.Faulty) {
			dying := enginetest.NewFaulty(e)
			processes := []*process{newProcess(t, dying, 7*time.Second), newProcess(t, e, 2*time.Second), newProcess(t, e, 0)}
			var runs []string
			once(t, processes, policy, func(ctx context.Context) error {
				runs = append(runs, time.Now().UTC().Format("15:04:05"))
				if len(runs) == 1 {
					down(dying)
					<-ctx.Done()
				}
				return ctx.Err()
			})
			pass(2*time.Minute + 30*time.Second)
			if got := fmt.Sprint(runs); got != "[00:00:53 00:01:58]" {
				t.Errorf("the job ran at %s, want at 00:00:53 and at 00:01:58", got)
			}
			dying.Heal()
		},
		"a job that fails or panics does not run again within the window": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			processes := three(t, e)
			once(t, processes, policy, func(context.Context) error {
				runs.Mark()
				switch runs.N() {
				case 1:
					return errors.New("no paper")
				case 2:
					return io.ErrUnexpectedEOF // of a server that did not answer
				default:
					panic("bug")
				}
			})
			pass(3*time.Minute + 30*time.Second)
			runs.Times(3)
			first := processes[2].errors // its clock is ahead
			if len(first) != 3 || !strings.Contains(first[0].Error(), "no paper") || !errors.Is(first[1], io.ErrUnexpectedEOF) || !errors.Is(first[2], gocron.ErrPanicRecovered) {
				t.Errorf("the errors are %v, want those of the job", first)
			}
		},
		"a job that was not executed may run in another process": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			once(t, three(t, e), policy, func(context.Context) error {
				runs.Mark()
				return guard.NotExecuted(errors.New("no connection"))
			})
			pass(time.Minute + 30*time.Second)
			runs.Times(3)
		},
		"with Hold, a job stops after an unknown outcome, and says so": func(t *testing.T, e *enginetest.Faulty) {
			p := newProcess(t, e, 0)
			runs := interlocktest.Count(t, "the job")
			held := policy
			held.OnUnknown = guard.Hold
			once(t, []*process{p}, held, func(context.Context) error {
				runs.Mark()
				return guard.OutcomeUnknown(errors.New("the bank did not answer"))
			})
			pass(10*time.Minute + 30*time.Second)
			runs.Once()
			if len(p.errors) != 10 || !errors.Is(p.errors[9], guard.ErrUnknown) {
				t.Errorf("the errors are %v, want 10 that match ErrUnknown", p.errors)
			}
		},
		"while the engine is down no job runs, and the listeners are told": func(t *testing.T, e *enginetest.Faulty) {
			runs := interlocktest.Count(t, "the job")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			down(e)
			locked, guarded, elected := newProcess(t, e, 0), newProcess(t, e, 0), newProcess(t, e, 0)
			locker, err := interlockgocron.NewLocker(locked.client, 30*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			locked.start(gocron.NewTask(runs.Mark), gocron.WithDistributedLocker(locker))
			once(t, []*process{guarded}, policy, func(context.Context) error { runs.Mark(); return nil })
			elector := interlockgocron.NewElector(elected.client.Leader("jobs"))
			go func() { _ = elector.Run(ctx) }()
			elected.start(gocron.NewTask(runs.Mark), gocron.WithDistributedElector(elector))
			pass(time.Minute + 30*time.Second)
			runs.Never()
			for _, p := range []*process{locked, guarded} {
				if len(p.errors) != 1 || !errors.Is(p.errors[0], guard.ErrDown) {
					t.Errorf("the errors are %v, want one that matches ErrDown", p.errors)
				}
			}
			if err := elector.IsLeader(ctx); !errors.Is(err, interlockgocron.ErrNotLeader) {
				t.Errorf("IsLeader = %v, want ErrNotLeader", err)
			}
			e.Heal()
			pass(time.Minute)
			runs.Times(3)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := enginetest.NewFaulty(interlocktest.New(t).Engine())
				check(t, e)
				e.Heal()
			})
		})
	}
}

func TestErrors(t *testing.T) {
	client := interlock.New(nil)
	for name, c := range map[string]struct {
		policy guard.Policy
		want   string
	}{
		"a policy without a name":   {guard.Policy{Window: time.Minute}, "Name"},
		"a policy without a window": {guard.Policy{Name: "a"}, "Window"},
		"a scope with users":        {guard.Policy{Name: "b", Window: time.Minute, Scope: guard.PerUser}, "a job has no user"},
		"a guard that keeps":        {guard.Policy{Name: "c", After: guard.Keep}, "a job needs"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := interlockgocron.Once(client, c.policy, func(context.Context) error { return nil }); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Once returned %v, want %q", err, c.want)
			}
		})
	}
	if _, err := interlockgocron.NewLocker(client, 0); err == nil {
		t.Error("NewLocker accepted a window of zero")
	}
}
