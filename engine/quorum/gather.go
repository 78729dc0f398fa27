package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A reply is the reply of a node to any call.
type reply[T any] struct {
	node  int
	value T
	err   error
}

// callAll calls all nodes in parallel, each with the engine's timeout, even if the
// caller stops waiting.
func callAll[T any](ctx context.Context, e *Engine, call func(ctx context.Context, i int) (T, error)) <-chan reply[T] {
	// The channel has space for all, so that late calls end although no caller receives.
	replies := make(chan reply[T], len(e.nodes))
	for i := range e.nodes {
		e.running.Go(func() { // ends with the timeout
			ctx, cancel := detached(ctx, e.timeout)
			defer cancel()
			value, err := call(ctx, i)
			replies <- reply[T]{i, value, err}
		})
	}
	return replies
}

// gather calls all nodes and returns the successful replies by node, if a majority
// succeeded.
func gather[T any](ctx context.Context, e *Engine, what string, call func(ctx context.Context, i int) (T, error)) (map[int]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	defer e.end()
	return gatherStarted(ctx, e, what, call)
}

// gatherStarted is gather within a call that has begun.
func gatherStarted[T any](ctx context.Context, e *Engine, what string, call func(ctx context.Context, i int) (T, error)) (map[int]T, error) {
	answers, replies := make(map[int]T), callAll(ctx, e, call)
	var errs []error
	// A definite error would recur, so it is reported instead of the missing majority.
	var definite error
	kind := engine.ErrUnavailable
	for range e.nodes {
		select {
		case a := <-replies:
			if a.err == nil {
				answers[a.node] = a.value
				continue
			}
			errs = append(errs, fmt.Errorf("node %d: %w", a.node+1, a.err))
			if !noEffect(a.err) {
				kind = engine.ErrUnknown
			}
			if !engine.Temporary(a.err) {
				definite = cmp.Or(definite, a.err)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("quorum: %s: gave up before all nodes answered: %w: %w", what, engine.ErrUnknown, context.Cause(ctx))
		}
	}
	switch {
	case len(answers) >= e.need:
		return answers, nil
	case definite != nil:
		return nil, fmt.Errorf("quorum: %s: %w", what, definite)
	}
	return nil, fmt.Errorf("quorum: %s: %d of %d nodes answered, and %d are needed: %w",
		what, len(answers), len(e.nodes), e.need, kindError{kind, errors.Join(errs...)})
}
