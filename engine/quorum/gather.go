package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// A reply is what a node has answered to any call.
type reply[T any] struct {
	node  int
	value T
	err   error
}

// everywhere makes a call to all nodes at once, each of which has the engine's bound
// to answer, also if the caller does not wait for it.
func everywhere[T any](ctx context.Context, e *Engine, call func(ctx context.Context, i int) (T, error)) <-chan reply[T] {
	replies := make(chan reply[T], len(e.nodes))
	for i := range e.nodes {
		e.running.Go(func() { // until the bound is over
			ctx, cancel := deadline(ctx, e.bound)
			defer cancel()
			value, err := call(ctx, i)
			replies <- reply[T]{i, value, err}
		})
	}
	return replies
}

// gather waits for the replies of all nodes to a call, and returns those that are
// answers, by node, if most are.
func gather[T any](ctx context.Context, e *Engine, what string, call func(ctx context.Context, i int) (T, error)) (map[int]T, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.leave()
	return gathered(ctx, e, what, call)
}

// gathered is gather within a call that has begun.
func gathered[T any](ctx context.Context, e *Engine, what string, call func(ctx context.Context, i int) (T, error)) (map[int]T, error) {
	answers, replies := make(map[int]T), everywhere(ctx, e, call)
	var errs []error
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
			if !sure(a.err) {
				kind = engine.ErrUnknown
			}
			if !engine.Temporary(a.err) {
				definite = cmp.Or(definite, a.err)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("quorum: %s: gave up before all nodes had answered: %w: %w", what, engine.ErrUnknown, context.Cause(ctx))
		}
	}
	switch {
	case len(answers) >= e.need:
		return answers, nil
	case definite != nil:
		return nil, fmt.Errorf("quorum: %s: %w", what, definite)
	}
	return nil, fmt.Errorf("quorum: %s: %d of %d nodes have answered, and %d are needed: %w",
		what, len(answers), len(e.nodes), e.need, joined{kind, errors.Join(errs...)})
}
