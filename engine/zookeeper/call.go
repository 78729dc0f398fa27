package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/keystate"
)

// run executes a command on the document of a key, and returns the answer. The call
// returns within the engine's timeout: if the command is then on its way, with
// ErrUnknown.
func (e *Engine) run(ctx context.Context, dir, key string, c keystate.Command) (any, error) {
	return e.runUntil(ctx, time.Now().Add(e.timeout), dir, key, c)
}

// runUntil is run for a call that began earlier.
func (e *Engine) runUntil(ctx context.Context, deadline time.Time, dir, key string, c keystate.Command) (any, error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	x := keystate.NewCall(ctx, "zookeeper", c)
	path := e.path(dir, key)
	if !e.queues.Add(path, x, e.tasks.Start, func(calls []*keystate.Call) {
		r := round{e: e, dir: dir, key: key, path: path, calls: calls}
		r.run()
	}) {
		return nil, errClosed
	}
	answer, err := x.Wait(deadline)
	if early := keystate.EndedError(false); errors.As(err, &early) {
		if early {
			return nil, e.endedEarly(ctx, key)
		}
		return nil, e.endedLate(ctx, key, c.Do)
	}
	return answer, err
}

// ask is run for a command whose answer has type T.
func ask[T any](ctx context.Context, e *Engine, dir, key string, c keystate.Command) (answer T, _ error) {
	return askUntil[T](ctx, time.Now().Add(e.timeout), e, dir, key, c)
}

// askUntil is ask for a call that began earlier.
func askUntil[T any](ctx context.Context, deadline time.Time, e *Engine, dir, key string, c keystate.Command) (answer T, _ error) {
	a, err := e.runUntil(ctx, deadline, dir, key, c)
	return keystate.Answer[T]("zookeeper", a, err)
}
