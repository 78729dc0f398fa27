// Package interlockriver makes jobs of River take effect once.
//
// [Middleware] returns a middleware for workers. A job is claimed by its ID before the
// worker runs, recorded as done afterwards, and completed last:
//
//	orders, err := guard.New[struct{}](client, guard.Policy{Name: "orders", Scope: guard.Global})
//	…
//	once, err := interlockriver.Middleware(orders)
//	…
//	rc, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Middleware: []rivertype.Middleware{once}, …})
//
// This guards all workers. The method Middleware of a worker guards its own jobs. Use one
// guard, with a name of its own, for each worker whose jobs have IDs from [ID].
//
// If a job only changes the database of River itself, [guard.Guard.DoTx] in the same
// transaction as river.JobCompleteTx is stronger: then no outcome is ever unknown. This
// middleware is for jobs with effects elsewhere.
//
// # What River is told
//
// A job that was done before completes without running. A job that another process runs,
// and every job while the engine is down, is snoozed, which does not count as an attempt. An
// error of the worker is returned to River, which retries by its own rules; so is
// river.JobSnooze, after which the job runs again.
//
// A job is canceled (river.JobCancel) if running it again cannot be right: its outcome is
// unknown and the policy is [guard.Hold], or its ID was used with other arguments. An
// unknown outcome also stays in the list of [guard.Records]. If an operator finds that the
// work did not happen (Forget), retrying the canceled job runs it.
//
// # Timeouts and shutdown
//
// A job that exceeds its timeout, one minute by default, has an unknown outcome, and so has
// one that StopAndCancel interrupts. Stop waits for running jobs. Stop River first, then
// close the guard. River tries a job again whose process died after RescueStuckJobsAfter,
// which is one hour by default.
package interlockriver

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume"
)

// An Option configures a middleware.
type Option func(*once)

// ID sets the function that returns the ID of a job. Two jobs with one ID are repeats. A job
// with an empty ID is canceled. Default: River's ID of the job. It is safe against retries,
// but not against a program that inserts a job twice; see also river.UniqueOpts.
func ID(of func(*rivertype.JobRow) string) Option { return func(o *once) { o.id = of } }

type once struct {
	guard *guard.Guard[struct{}]
	id    func(*rivertype.JobRow) string
}

// Middleware returns a middleware that runs the worker once for each job. The guard's policy
// must have the scope [guard.Global], keep results and free the key after an error. The last
// two are the defaults.
func Middleware(g *guard.Guard[struct{}], opts ...Option) (rivertype.WorkerMiddleware, error) {
	o := &once{guard: g, id: jobID}
	for _, opt := range opts {
		opt(o)
	}
	err := consume.Check(g)
	switch {
	case err != nil:
	case g.Policy().OnError != guard.Free: // a snoozed job returns an error, too
		err = fmt.Errorf("%w %q: OnError is %q, so a job that was snoozed would not run again: set OnError to guard.Free", guard.ErrPolicy, g.Policy().Name, g.Policy().OnError)
	case o.id == nil:
		err = errors.New("ID: the function is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("interlockriver: %w", err)
	}
	return river.WorkerMiddlewareFunc(o.work), nil
}

func (o *once) work(ctx context.Context, job *rivertype.JobRow, inner func(context.Context) error) error {
	_, out := consume.Do(ctx, o.guard, o.id(job), [][]byte{[]byte(job.Kind), job.EncodedArgs}, func(ctx context.Context) (none struct{}, _ error) {
		return none, inner(ctx)
	})
	switch out.Action {
	case consume.Nack:
		return river.JobSnooze(out.Delay)
	case consume.Park:
		return river.JobCancel(fmt.Errorf("interlockriver: the job does not run: %w", out.Err))
	}
	return out.Err
}

// jobID identifies a job in River's database. The time tells the jobs of a database from
// those of an earlier one.
func jobID(job *rivertype.JobRow) string {
	return fmt.Sprintf("%s/%d/%d", job.Kind, job.ID, job.CreatedAt.UnixMicro())
}
