package keystate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Call is a command of a caller that waits for the answer.
type Call struct {
	Command
	ctx    context.Context // only to end early
	engine string          // its name, for refusals
	stage  atomic.Int32
	done   chan struct{} // closed when answer and err are there
	answer any
	err    error
}

// The stages of a call.
const (
	queued   int32 = iota // not sent, or only in transactions that had no effect
	sent                  // the command is in a transaction on its way
	gaveUp                // the caller has left; a command that is not on its way must not be sent
	answered              // the answer is there, or about to be
)

// NewCall returns a call whose caller waits until ctx is done. engine is the name of the
// engine, with which refusals begin.
func NewCall(ctx context.Context, engine string, c Command) *Call {
	return &Call{Command: c, ctx: ctx, engine: engine, done: make(chan struct{})}
}

// An EndedError is the error of a call whose caller waits no longer. It is true if
// the command has no effect, and false if it was on its way.
type EndedError bool

// Error implements error. Engines replace it with an error that says what happened.
func (e EndedError) Error() string {
	if e {
		return "the call ended before it was sent"
	}
	return "the call ended before its answer"
}

// Wait returns the answer. If it does not arrive by a deadline, or if the call's context
// ends first, the error is an [EndedError].
func (x *Call) Wait(deadline time.Time) (any, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-x.done:
	case <-x.ctx.Done():
	case <-timer.C:
	}
	for x.stage.Load() != answered { // a call may go back from sent to queued
		if x.stage.CompareAndSwap(queued, gaveUp) {
			return nil, EndedError(true)
		}
		if x.stage.CompareAndSwap(sent, gaveUp) {
			return nil, EndedError(false)
		}
	}
	<-x.done // the answer is there, or about to be
	return x.answer, x.err
}

// Resolve gives a call its answer, unless its caller has left.
func (x *Call) Resolve(answer any, err error) {
	stage := x.stage.Load()
	if stage == gaveUp || !x.stage.CompareAndSwap(stage, answered) {
		return
	}
	if refused, ok := answer.(error); ok && err == nil {
		answer, err = nil, Named(x.engine, refused)
	}
	x.answer, x.err = answer, err
	close(x.done)
}

// Waiting reports whether the call may still be sent.
func (x *Call) Waiting() bool { return x.stage.Load() == queued && x.ctx.Err() == nil }

// Named adds the name of an engine to a refusal.
func Named(engine string, err error) error {
	if r := (RefusalError{}); errors.As(err, &r) {
		return fmt.Errorf("%s: %w", engine, err)
	}
	return err
}

// Send marks calls as sent. It reports false if a caller has left meanwhile: then none is
// marked.
func Send(calls []*Call) bool {
	for i, x := range calls {
		if x.ctx.Err() != nil || !x.stage.CompareAndSwap(queued, sent) {
			Unsend(calls[:i])
			return false
		}
	}
	return true
}

// Unsend marks calls as not sent: the transaction had no effect, and will have none.
func Unsend(calls []*Call) {
	for _, x := range calls {
		x.stage.CompareAndSwap(sent, queued)
	}
}

// Fail ends calls with an error.
func Fail(calls []*Call, err error) {
	for _, x := range calls {
		x.Resolve(nil, err)
	}
}

// Answer returns a, the answer to a command, as a T. If a has another type, it returns an error.
func Answer[T any](engine string, a any, err error) (answer T, _ error) {
	if err != nil {
		return answer, err
	}
	answer, ok := a.(T)
	if !ok {
		return answer, fmt.Errorf("%s: the answer is %T, want %T", engine, a, answer)
	}
	return answer, nil
}
