package enginetest

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A call whose context is done says so and changes nothing.
var contextLaws = []Law{
	{"context", "an acquire whose context is done changes nothing", func(b *bench) {
		a := b.ask(ann)
		_, err := b.Acquire(b.done(), a)
		b.cancelled(err)
		b.free(a)
	}},
	{"context", "a renewal whose context is done changes nothing", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.passMost()
		for _, err := range b.Renew(b.done(), []engine.Request{a}) {
			b.cancelled(err)
		}
		b.passMost()
		b.free(a)
	}},
	{"context", "a renewal whose context is done answers for each request", func(b *bench) {
		rs := []engine.Request{b.ask(ann), b.ask(bob), b.ask(eve)}
		errs := b.Renew(b.done(), rs)
		if len(errs) != len(rs) {
			b.errorf("%d requests have %d answers", len(rs), len(errs))
		}
		for _, err := range errs {
			b.cancelled(err)
		}
	}},
	{"context", "a release whose context is done changes nothing", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		_, err := b.Release(b.done(), a)
		b.cancelled(err)
		b.held(a)
	}},
	{"context", "an abandon whose context is done changes nothing", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		_, err := b.Abandon(b.done(), a)
		b.cancelled(err)
		b.held(a)
		b.granted(again(a))
	}},
	{"context", "a passed deadline is distinguished from a cancellation", func(b *bench) {
		ctx, cancel := context.WithDeadline(b.ctx, time.Now().Add(-time.Second))
		defer cancel()
		_, err := b.Acquire(ctx, b.ask(ann))
		if !errors.Is(err, context.DeadlineExceeded) {
			b.errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	}},
	{"context", "cancelling the context of a grant does not end the hold", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		a := b.ask(ann)
		if _, err := b.Acquire(ctx, a); err != nil {
			b.errorf("acquire: %v", err)
		}
		cancel()
		b.pass(b.Lease / 10)
		b.held(a)
	}},
}

// done is a context that is over.
func (b *bench) done() context.Context {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	return ctx
}

// cancelled demands that a call was not made. It has certainly not happened, so
// the outcome must not be said to be unknown.
func (b *bench) cancelled(err error) {
	if !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrUnknown) {
		b.errorf("error %v, want %v", err, context.Canceled)
	}
}
