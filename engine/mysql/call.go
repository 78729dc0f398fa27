package mysql

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/keystate"
)

// run executes a command on the document of a key, and returns the answer. The call returns
// within the engine's timeout: if the command is then on its way, with ErrUnknown.
func (e *Engine) run(ctx context.Context, class, key string, c keystate.Command) (any, error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(e.timeout)
	if !e.checked.Load() {
		limited, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		if err := e.checkSchema(limited, ctx); err != nil {
			return nil, err
		}
	}
	x, id := keystate.NewCall(ctx, name, c), rowOf(class, key)
	waited := false // the round before has waited for the row in vain
	if !e.queues.Add(string(id[:]), x, e.tasks.Start, func(calls []*keystate.Call) {
		r := round{e: e, class: class, key: key, id: id, calls: calls, waited: waited}
		waited = r.run()
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
func ask[T any](ctx context.Context, e *Engine, class, key string, c keystate.Command) (answer T, _ error) {
	a, err := e.run(ctx, class, key, c)
	return keystate.Answer[T](name, a, err)
}

// read executes a command that only asks. It locks nothing, so it does not wait for other
// transactions.
func read[T any](ctx context.Context, e *Engine, class, key string, c keystate.Command) (answer T, _ error) {
	if err := e.ready(ctx); err != nil {
		return answer, err
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var d *document
	err := e.observe(ctx, c.Do, func() (err error) {
		d, err = e.look(limited, class, key)
		return err
	})
	if err != nil {
		return answer, e.explain(ctx, attempt{operation: c.Do, key: key, err: err})
	}
	s, err := d.state(class, key)
	if err != nil {
		return answer, err
	}
	answers, _ := keystate.Execute(s, []keystate.Command{c}, d.moment())
	if refused, ok := answers[0].(error); ok {
		return answer, keystate.Named(name, refused)
	}
	return keystate.Answer[T](name, answers[0], nil)
}
