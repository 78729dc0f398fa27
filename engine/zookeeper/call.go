package zookeeper

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A call is a command of a caller that waits for the answer.
type call struct {
	command
	ctx    context.Context // only to end early
	stage  atomic.Int32
	done   chan struct{} // closed when answer and err are there
	answer any
	err    error
}

// The stages of a call.
const (
	queued   int32 = iota // nothing was sent that may take effect
	sent                  // the command is in a transaction on its way
	gaveUp                // the caller has left; the command must not be sent
	answered              // the caller has the answer, or may have it
)

// run executes a command on the document of a key, and returns the answer. The call
// returns within the engine's timeout: if the command is then on its way, with
// ErrUnknown.
func (e *Engine) run(ctx context.Context, dir, key string, c command) (any, error) {
	return e.runUntil(ctx, time.Now().Add(e.timeout), dir, key, c)
}

// runUntil is run for a call that began earlier.
func (e *Engine) runUntil(ctx context.Context, deadline time.Time, dir, key string, c command) (any, error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	x := &call{command: c, ctx: ctx, done: make(chan struct{})}
	if !e.queues.add(e, dir, key, x) {
		return nil, errClosed
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-x.done:
	case <-ctx.Done():
	case <-timer.C:
	}
	for x.stage.Load() != answered { // a call may go back from sent to queued
		if x.stage.CompareAndSwap(queued, gaveUp) {
			return nil, e.endedEarly(ctx, key)
		}
		if x.stage.CompareAndSwap(sent, gaveUp) {
			return nil, e.endedLate(ctx, key, c.Do)
		}
	}
	<-x.done // the answer is there, or about to be
	return x.answer, x.err
}

// ask is run for a command whose answer has type T.
func ask[T any](ctx context.Context, e *Engine, dir, key string, c command) (answer T, _ error) {
	return askUntil[T](ctx, time.Now().Add(e.timeout), e, dir, key, c)
}

// askUntil is ask for a call that began earlier.
func askUntil[T any](ctx context.Context, deadline time.Time, e *Engine, dir, key string, c command) (answer T, _ error) {
	a, err := e.runUntil(ctx, deadline, dir, key, c)
	if err != nil {
		return answer, err
	}
	answer, ok := a.(T)
	if !ok {
		return answer, fmt.Errorf("zookeeper: %q: the answer to %s is %T, want %T", key, c.Do, a, answer)
	}
	return answer, nil
}

// resolve gives a call its answer, unless its caller has left.
func (x *call) resolve(answer any, err error) {
	stage := x.stage.Load()
	if stage == gaveUp || !x.stage.CompareAndSwap(stage, answered) {
		return
	}
	if refusal, ok := answer.(error); ok && err == nil {
		answer, err = nil, refusal
	}
	x.answer, x.err = answer, err
	close(x.done)
}

// waiting reports whether the call may still be sent.
func (x *call) waiting() bool { return x.stage.Load() == queued && x.ctx.Err() == nil }
