// Package interlockgocron runs the jobs of gocron once across processes.
//
// There are three ways, and every process sets up the same jobs:
//
//   - [NewElector]: one process is elected, and runs all jobs.
//   - [NewLocker]: for each job and interval, the first process runs it.
//   - [Once]: as NewLocker, for one job, whose context ends when it loses its claim, and
//     which has a fence.
//
// gocron tells a Locker and an Elector neither the time for which a job was scheduled, nor
// its result, and gives the job a context that does not end with the lock. So Locker counts
// time by the clock of the engine: repeats are refused for a window after a run. The window
// must be longer than the clocks of the processes differ, and shorter than the interval of
// the job by as much: half the interval is a good choice. Use Once for jobs that need a fence,
// and for money.
package interlockgocron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// ErrNotLeader means that another process runs the jobs, or that no process does.
var ErrNotLeader = errors.New("interlockgocron: this process is not the leader")

// An Elector lets the jobs run in the process that leads. While the engine is down there is
// no leader, and no job runs.
type Elector struct {
	leader *interlock.Leader

	mu   sync.Mutex
	term *term // nil while another process leads
}

// A term is a leadership: its context, and the tasks that run under it.
type term struct {
	context.Context //nolint:containedctx // tasks begin later than the term

	tasks sync.WaitGroup
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector returns an Elector. It leads only while [Elector.Run] runs.
func NewElector(leader *interlock.Leader) *Elector { return &Elector{leader: leader} }

// Run campaigns until ctx is done, or the client of the leader is closed; see
// interlock.Leader.Run. Call it in a goroutine before the scheduler starts. It resigns when
// the tasks made by [Elector.Task] have returned. It does not know of other tasks, so shut the
// scheduler down before ctx ends.
func (e *Elector) Run(ctx context.Context) error {
	return e.leader.Run(ctx, func(ctx context.Context) error {
		t := &term{Context: ctx}
		e.set(t)
		<-ctx.Done()
		e.set(nil)
		t.tasks.Wait()
		return nil
	})
}

func (e *Elector) set(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// IsLeader implements [gocron.Elector].
func (e *Elector) IsLeader(context.Context) error {
	t, err := e.enter()
	if err == nil {
		t.tasks.Done()
	}
	return err
}

// enter begins a task. The caller ends it with t.tasks.Done.
func (e *Elector) enter() (t *term, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil || e.term.Err() != nil {
		return nil, ErrNotLeader
	}
	e.term.tasks.Add(1)
	return e.term, nil
}

// Task returns a task that calls fn with a context that ends with the leadership, as well as
// with the scheduler. interlock.Fence returns the fence in fn. After a change of the leader,
// the next one may run a job that the last one already ran for the same time; [Once]
// prevents that.
func (e *Elector) Task(fn func(context.Context) error) gocron.Task {
	return gocron.NewTask(func(ctx context.Context) error {
		t, err := e.enter()
		if err != nil {
			return err
		}
		defer t.tasks.Done()
		held, cancel := context.WithCancelCause(t)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return fn(held)
	})
}

// NewLocker returns a Locker that lets a job run at most once per window, counted from its
// start by the engine's clock. The key is the name of the job: set it with gocron.WithName,
// as the default is the name of a function. Two jobs with one name count as one job, also in
// other services, unless their clients differ in interlock.Prefix.
//
// While a job runs, its repeats are refused, however long it takes, up to 15 minutes. If its
// process dies, it may run again when its lease has expired after 30 seconds, and the window
// has passed. If the engine is down, jobs do not run. gocron.AfterLockError gets the error.
func NewLocker(client *interlock.Client, window time.Duration) (gocron.Locker, error) {
	g, err := newGuard(client, guard.Policy{Name: "gocron", After: guard.Window, Window: window})
	if err != nil {
		return nil, err
	}
	return locker{g}, nil
}

type locker struct{ guard *guard.Guard[struct{}] }

// Lock implements [gocron.Locker].
func (l locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	_, claim, err := l.guard.Begin(ctx, guard.ID(key))
	if err != nil {
		return nil, err
	}
	return lock{claim}, nil
}

type lock struct{ claim *guard.Claim[struct{}] }

// Unlock implements [gocron.Lock]. gocron does not say whether the job failed.
func (l lock) Unlock(context.Context) error { return l.claim.Complete(struct{}{}) }

// Once returns a task that runs fn at most once per window, by Policy.Window. The context
// ends when the claim is lost or the scheduler shuts down. guard.Fence returns the fence in
// fn. A task that does not run returns the error of the guard, such as a *guard.DuplicateError
// for a repeat, which gocron.AfterJobRunsWithError gets.
//
// Policy.Name is the name of the job, the same in all processes. Two jobs of one name count as
// one job: only one of them runs in a window. The defaults of the policy are those of package
// guard, except that its scope is Global, After is Window, and after an unknown outcome the
// job runs again at its next time. For money, set OnUnknown to Hold: then the job stops until
// an operator has looked.
//
// A job that fails or panics does not run again within the window. The exceptions are errors
// made by guard.NotExecuted: another process may then run the job for the same time.
func Once(client *interlock.Client, p guard.Policy, fn func(context.Context) error) (gocron.Task, error) {
	g, err := newGuard(client, p)
	if err != nil {
		return nil, err
	}
	return gocron.NewTask(func(ctx context.Context) error { return runOnce(ctx, g, fn) }), nil
}

func runOnce(ctx context.Context, g *guard.Guard[struct{}], fn func(context.Context) error) (err error) {
	ctx, claim, err := g.Begin(ctx, guard.ID("job"))
	if err != nil {
		return err
	}
	complete := func() error { return claim.Complete(struct{}{}) }
	settle := claim.Abandon
	if g.Policy().OnUnknown == guard.Rerun {
		settle = complete // an outcome that is unknown does not end the window
	}
	defer func() { err = errors.Join(err, settle()) }() // also if fn panics
	err = fn(ctx)
	switch g.Classify(err) {
	case "", guard.ClassFailed:
		settle = complete
	case guard.ClassNotSent:
		settle = claim.Free
	case guard.ClassUnknown:
	}
	return err
}

func newGuard(client *interlock.Client, p guard.Policy) (*guard.Guard[struct{}], error) {
	if p.Scope == "" {
		p.Scope = guard.Global
	}
	if p.After == "" {
		p.After = guard.Window
	}
	if p.OnUnknown == "" {
		p.OnUnknown = guard.Rerun
	}
	var err error
	switch {
	case p.Scope != guard.Global:
		err = fmt.Errorf("%w: Scope is %q; a job has no user, so use %q", guard.ErrPolicy, p.Scope, guard.Global)
	case p.After != guard.Window:
		err = fmt.Errorf("%w: After is %q; a job needs %q, longer than clocks differ and shorter than its interval", guard.ErrPolicy, p.After, guard.Window)
	}
	var g *guard.Guard[struct{}]
	if err == nil {
		g, err = guard.New[struct{}](client, p)
	}
	if err != nil {
		return nil, fmt.Errorf("interlockgocron: %w", err)
	}
	client.OnClose(g.Close)
	return g, nil
}
