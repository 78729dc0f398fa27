// Package interlockasynq makes tasks of asynq take effect once.
//
// [Middleware] returns a middleware for asynq.ServeMux. A task is claimed by its ID before
// the handler runs, recorded as done afterwards, and removed from the queue last. [Config]
// completes the configuration of the server:
//
//	orders, err := guard.New[struct{}](client, guard.Policy{Name: "orders", Scope: guard.Global})
//	…
//	once, err := interlockasynq.Middleware(orders)
//	…
//	mux := asynq.NewServeMux()
//	mux.Use(once)
//	srv := asynq.NewServer(redis, interlockasynq.Config(asynq.Config{Concurrency: 10}))
//
// This guards all tasks; once(handler) guards one handler. Use one guard, with a name of its
// own, for each handler whose tasks have IDs from [ID].
//
// # What asynq is told
//
// A task that was done before succeeds without running. A task that another process runs,
// and every task while the engine is down, is retried later; with Config that does not
// count as a failure. A task that has no retries left waits in its worker instead, up to its
// timeout, because asynq would archive it. A handler's error is returned to asynq, which
// retries by its own rules.
//
// A task is archived (asynq.SkipRetry) if running it again cannot be right: its outcome is
// unknown and the policy is [guard.Hold], or its ID was used with another type or payload. An
// unknown outcome also stays in the list of [guard.Records]. If an operator finds that the
// work did not happen (Forget), running the archived task runs it.
//
// # Timeouts and shutdown
//
// A task that exceeds its timeout or deadline has an unknown outcome, because asynq retries
// it while its handler may still run. The claim also ends after the policy's MaxHold, 15
// minutes by default, which is less than asynq's default timeout. At a shutdown, asynq waits for
// Config.ShutdownTimeout, 8 seconds by default: set it to the time that handlers need. Shut
// the server down first, then close the guard.
package interlockasynq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/interlock-go/interlock/guard"
	"github.com/interlock-go/interlock/internal/adapter/consume"
)

// An Option configures a middleware.
type Option func(*once)

// ID sets the function that returns the ID of a task. Two tasks with one ID are repeats. A
// task with an empty ID is archived. Default: the queue and asynq's ID of the task. It is safe
// against retries. It is safe against a producer that enqueues twice only if the
// producer sets asynq.TaskID. A task that is enqueued again under the same asynq.TaskID
// after it was done does not run within the policy's Retain.
func ID(of func(context.Context, *asynq.Task) string) Option { return func(o *once) { o.id = of } }

type once struct {
	guard *guard.Guard[struct{}]
	id    func(context.Context, *asynq.Task) string
}

// Middleware returns a middleware that runs the handler once for each task. The guard's policy
// must have the scope [guard.Global] and keep results, which is the default.
func Middleware(g *guard.Guard[struct{}], opts ...Option) (asynq.MiddlewareFunc, error) {
	o := &once{guard: g, id: taskID}
	for _, opt := range opts {
		opt(o)
	}
	err := consume.Check(g)
	if err == nil && o.id == nil {
		err = errors.New("ID: the function is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("interlockasynq: %w", err)
	}
	return o.wrap, nil
}

func (o *once) wrap(next asynq.Handler) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		for {
			_, out := consume.Do(ctx, o.guard, o.id(ctx, task), [][]byte{[]byte(task.Type()), task.Payload()}, func(ctx context.Context) (none struct{}, _ error) {
				return none, next.ProcessTask(ctx, task)
			})
			switch {
			case out.Action == consume.Park:
				return fmt.Errorf("interlockasynq: the task does not run: %w (%w)", out.Err, asynq.SkipRetry)
			case out.Action == consume.Nack && (hasRetries(ctx) || !pause(ctx, out.Delay)):
				return &laterError{out.Err, out.Delay}
			case out.Action != consume.Nack:
				return out.Err
			}
		}
	})
}

// hasRetries reports whether asynq will try the task again after an error. It archives a task
// that has used up its retries, even if IsFailure says that the error does not count.
func hasRetries(ctx context.Context) bool {
	retried, _ := asynq.GetRetryCount(ctx)
	limit, ok := asynq.GetMaxRetry(ctx)
	return !ok || retried < limit
}

// pause waits for d. It returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Config returns c for servers with the middleware. A task that did not run because another
// process runs it, or because the engine is down, is retried after the time that the guard
// knows, and does not count as failed. For other errors, RetryDelayFunc and IsFailure of c
// decide. Without Config, such retries count, and asynq archives the task when its
// retries are used up.
func Config(c asynq.Config) asynq.Config {
	delay, failure := c.RetryDelayFunc, c.IsFailure
	if delay == nil {
		delay = asynq.DefaultRetryDelayFunc
	}
	c.RetryDelayFunc = func(n int, err error, task *asynq.Task) time.Duration {
		var later *laterError
		if errors.As(err, &later) {
			return later.delay
		}
		return delay(n, err, task)
	}
	c.IsFailure = func(err error) bool {
		if errors.As(err, new(*laterError)) {
			return false
		}
		return failure == nil && err != nil || failure != nil && failure(err)
	}
	return c
}

// A laterError reports that a task did not run, and when to try again.
type laterError struct {
	err   error
	delay time.Duration
}

func (e *laterError) Error() string { return "interlockasynq: the task runs later: " + e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// taskID returns asynq's ID of a task, with its queue, in which it is unique.
func taskID(ctx context.Context, _ *asynq.Task) string {
	id, ok := asynq.GetTaskID(ctx)
	if !ok {
		return "" // not called by a server
	}
	queue, _ := asynq.GetQueueName(ctx)
	return queue + "/" + id
}
