package enginetest

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A call whose context is done fails and changes nothing.
var contextLaws = []Law{
	{"context", "an acquire whose context is done changes nothing", func(b *testbed) {
		a := b.ask(ann)
		_, err := b.Acquire(b.doneContext(), a)
		b.wantCanceled(err)
		b.free(a)
	}},
	{"context", "a renewal whose context is done changes nothing", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		for _, err := range b.Renew(b.doneContext(), []engine.Request{a}) {
			b.wantCanceled(err)
		}
		b.sleepMostOfLease()
		b.free(a)
	}},
	{"context", "a renewal whose context is done answers for each request", func(b *testbed) {
		rs := []engine.Request{b.ask(ann), b.ask(bob), b.ask(eve)}
		errs := b.Renew(b.doneContext(), rs)
		if len(errs) != len(rs) {
			b.errorf("%d requests have %d answers", len(rs), len(errs))
		}
		for _, err := range errs {
			b.wantCanceled(err)
		}
	}},
	{"context", "a release whose context is done changes nothing", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		_, err := b.Release(b.doneContext(), a)
		b.wantCanceled(err)
		b.heldBy(a)
	}},
	{"context", "an abandon whose context is done changes nothing", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		_, err := b.Abandon(b.doneContext(), a)
		b.wantCanceled(err)
		b.heldBy(a)
		b.granted(asRetry(a))
	}},
	{"context", "a passed deadline is distinguished from a cancellation", func(b *testbed) {
		ctx, cancel := context.WithDeadline(b.ctx, time.Now().Add(-time.Second))
		defer cancel()
		_, err := b.Acquire(ctx, b.ask(ann))
		if !errors.Is(err, context.DeadlineExceeded) {
			b.errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
	}},
	{"context", "cancelling the context of a grant does not end the hold", func(b *testbed) {
		ctx, cancel := context.WithCancel(b.ctx)
		a := b.ask(ann)
		if _, err := b.Acquire(ctx, a); err != nil {
			b.errorf("acquire: %v", err)
		}
		cancel()
		b.sleep(b.Lease / 10)
		b.heldBy(a)
	}},
}

// doneContext returns a cancelled context.
func (b *testbed) doneContext() context.Context {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	return ctx
}

// wantCanceled requires that a call failed because of its context. The call was not
// sent, so the error must not match ErrUnknown.
func (b *testbed) wantCanceled(err error) {
	if !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrUnknown) {
		b.errorf("error %v, want %v", err, context.Canceled)
	}
}
