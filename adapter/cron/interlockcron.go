// Package interlockcron runs the jobs of robfig/cron once across processes.
//
//	c := cron.New()
//	jobs := interlockcron.New(c, client, cron.DefaultLogger)
//	_, err := jobs.AddFunc("0 3 * * *", guard.Policy{Name: "report"}, report)
//	...
//	c.Start()
//
// Every process adds the same jobs. At each activation one of them runs the job, and the
// others skip it; they do not wait. The key of the guard is the time of the activation, so
// it does not matter that the clocks of the processes differ, or that the job is done before
// the last process wakes up.
//
// The Crons of all processes must use the same time zone: see [cron.WithLocation]. In another
// zone the same spec gives other times.
//
// A job may still run when its next activation comes, in this process or in another. To skip
// that activation, wrap the job in [SkipIfStillRunning]. Do not pass [cron.DelayIfStillRunning]
// to [cron.WithChain]: an activation that waits there until the next one comes counts as that
// one. Wrap the job itself instead.
//
// # Failures
//
// An activation runs at most once, even if its job fails or its process dies. The next
// activation runs as usual. [guard.Records] lists the activations whose outcome is unknown.
// Policy.OnUnknown and Policy.OnError change this. A job that takes longer than
// Policy.MaxHold, by default 15 minutes, loses its claim. If the engine is down, the job does
// not run, and the logger gets the error.
package interlockcron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/guard"
)

// A Func is a job with a context, which ends when the job loses its claim or lock.
// guard.Fence and interlock.Fence return the fence in the job.
//
// A [cron.JobWrapper] of another package between a Func and this package hides the context.
// Pass such wrappers to [cron.WithChain].
type Func func(ctx context.Context) error

// Run implements [cron.Job], for a Func without a guard. Its error goes to
// [cron.DefaultLogger].
func (f Func) Run() {
	if err := f(context.Background()); err != nil {
		cron.DefaultLogger.Error(err, "job failed")
	}
}

func (f Func) run(ctx context.Context) error { return f(ctx) }

// runJob runs a job, with a context if it takes one.
func runJob(ctx context.Context, job cron.Job) error {
	if j, ok := job.(interface {
		run(ctx context.Context) error
	}); ok {
		return j.run(ctx)
	}
	job.Run()
	return nil
}

// Jobs adds jobs to a Cron.
type Jobs struct {
	cron   *cron.Cron
	client *interlock.Client
	logger cron.Logger

	mu    sync.Mutex
	names map[string]cron.EntryID // the entries by Policy.Name
}

// New returns Jobs that adds to c. The logger gets an Info for each activation that is
// skipped, and an Error for each job that fails or cannot be guarded.
func New(c *cron.Cron, client *interlock.Client, logger cron.Logger) *Jobs {
	return &Jobs{cron: c, client: client, logger: logger, names: make(map[string]cron.EntryID)}
}

// AddFunc adds a job that runs once for each activation of spec, which c parses.
//
// Policy.Name is the name of the job, the same in all processes. It is an error if another
// entry has it, because the two would take each other's activations. The defaults of the
// policy are those of package guard, except that its scope is Global, duplicates are refused,
// and an error is kept: a job that failed does not run again in another process.
// Policy.Retain, 24 hours by default, must be longer than a process may be late.
//
// With @every, each process counts from its own start. The job then runs at most once per
// interval of the clock, such as once between 12:00 and 12:05.
func (j *Jobs) AddFunc(spec string, p guard.Policy, fn func(context.Context) error) (cron.EntryID, error) {
	return j.AddJob(spec, p, Func(fn))
}

// AddJob is AddFunc for a [cron.Job]. A job that is no [Func] does not learn that its claim
// was lost.
func (j *Jobs) AddJob(spec string, p guard.Policy, job cron.Job) (cron.EntryID, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if id, ok := j.names[p.Name]; ok && j.cron.Entry(id).Valid() {
		return 0, fmt.Errorf("interlockcron: add a job: entry %d has the name %q: use another Policy.Name, or remove that entry", id, p.Name)
	}
	g, err := newGuard(j.client, p)
	if err != nil {
		return 0, fmt.Errorf("interlockcron: add a job: %w", err)
	}
	e := &entry{Jobs: j, guard: g, job: job}
	e.mu.Lock() // until the id is known: the job may be activated at once
	defer e.mu.Unlock()
	if e.id, err = j.cron.AddJob(spec, e); err != nil {
		return 0, err
	}
	j.names[p.Name] = e.id
	return e.id, nil
}

func newGuard(client *interlock.Client, p guard.Policy) (*guard.Guard[struct{}], error) {
	if p.Scope == "" {
		p.Scope = guard.Global
	}
	if p.OnDuplicate == "" {
		p.OnDuplicate = guard.Refuse
	}
	if p.OnError == "" {
		p.OnError = guard.Keep
	}
	switch {
	case p.Scope != guard.Global:
		return nil, fmt.Errorf("%w: Scope is %q; a job has no user, so use %q", guard.ErrPolicy, p.Scope, guard.Global)
	case p.After != "" && p.After != guard.Keep:
		return nil, fmt.Errorf("%w: After is %q, so a process whose clock is late could run the job again; use %q", guard.ErrPolicy, p.After, guard.Keep)
	}
	g, err := guard.New[struct{}](client, p)
	if err == nil {
		client.OnClose(g.Close)
	}
	return g, err
}

// An entry is a job of a Cron that runs once per activation.
type entry struct {
	*Jobs

	guard *guard.Guard[struct{}]
	job   cron.Job

	mu sync.Mutex // guards id
	id cron.EntryID
}

// Run implements [cron.Job].
func (e *entry) Run() {
	name := e.guard.Policy().Name
	at := e.activation()
	if at.IsZero() {
		e.logger.Info("skip", "job", name, "reason", "the Cron has not activated it, or its entry was removed")
		return
	}
	var ran bool
	_, err := e.guard.Do(context.Background(), guard.ID(at.UTC().Format(time.RFC3339)), func(ctx context.Context) (struct{}, error) {
		ran = true
		return struct{}{}, runJob(ctx, e.job)
	})
	switch {
	case ran && err != nil:
		e.logger.Error(err, "job failed", "job", name, "activation", at)
	case ran:
	case err == nil, errors.Is(err, guard.ErrDuplicate), errors.Is(err, guard.ErrFailed), errors.Is(err, guard.ErrNoResult):
		e.logger.Info("skip", "job", name, "activation", at, "reason", "it ran in another process")
	default: // the engine is down, or the outcome of another process is unknown
		e.logger.Error(err, "job did not run", "job", name, "activation", at)
	}
}

// activation returns the time for which the job was activated last, by the schedule. The
// clock of another process may differ, but its schedule gives the same time.
func (e *entry) activation() time.Time {
	e.mu.Lock()
	id := e.id
	e.mu.Unlock()
	entry := e.cron.Entry(id)
	if every, ok := entry.Schedule.(cron.ConstantDelaySchedule); ok {
		return entry.Prev.Truncate(every.Delay)
	}
	return entry.Prev
}

// SkipIfStillRunning skips a job while it runs in any process. It is
// [cron.SkipIfStillRunning] across processes: it does not keep two processes from running a
// short job for the same activation, one after the other. Use it with [Jobs.AddJob]:
//
//	job := cron.NewChain(interlockcron.SkipIfStillRunning(client.Mutex("report"), logger)).Then(interlockcron.Func(report))
//	_, err := jobs.AddJob("0 3 * * *", guard.Policy{Name: "report"}, job)
func SkipIfStillRunning(lock interlock.Locker, logger cron.Logger) cron.JobWrapper {
	return func(job cron.Job) cron.Job { return &exclusive{lock, logger, job} }
}

// An exclusive is a job that runs while it holds a lock.
type exclusive struct {
	lock   interlock.Locker
	logger cron.Logger
	job    cron.Job
}

// Run implements [cron.Job].
func (x *exclusive) Run() {
	if err := x.run(context.Background()); err != nil {
		x.logger.Error(err, "job failed")
	}
}

func (x *exclusive) run(ctx context.Context) error {
	ctx, hold, err := x.lock.TryLock(ctx)
	if errors.Is(err, interlock.ErrContended) {
		x.logger.Info("skip", "reason", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("interlockcron: the job did not run: %w", err)
	}
	defer hold.Unlock() //nolint:errcheck // for a panic in the job; a second Unlock does nothing
	err = runJob(ctx, x.job)
	if lost := hold.Unlock(); errors.Is(lost, interlock.ErrLost) {
		return errors.Join(err, lost)
	}
	return err
}
