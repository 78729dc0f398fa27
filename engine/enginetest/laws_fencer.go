package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// farAhead is how far a fence is raised: one second, if fences were the time in
// microseconds.
const farAhead = 1_000_000

// Agreement of several engines on a fence (requirement T11).
var fencerLaws = []Law{
	{"fencer", "a repeated attempt gets the raised fence", func(b *testbed) {
		a := b.fenced(b.ask(ann))
		want := b.granted(a).Fence + farAhead
		b.raises(a, want)
		if got := b.granted(asRetry(a)).Fence; got != want {
			b.errorf("the fence is %d, want %d", got, want)
		}
	}},
	{"fencer", "the next grant has a higher fence than a raised one", func(b *testbed) {
		for _, end := range []func(engine.Request){
			func(r engine.Request) { b.releases(r, engine.Released) },
			func(r engine.Request) { b.abandons(r, engine.Released) },
			func(engine.Request) { b.sleepPastLease() },
		} {
			a, c := b.fenced(b.ask(ann)), b.fenced(b.ask(bob))
			a.FenceReserve = 1000
			to := b.granted(a).Fence + farAhead
			b.raises(a, to)
			end(a)
			if got := b.granted(c).Fence; got <= to+a.FenceReserve {
				b.errorf("the fence is %d after fence %d with a reserve of %d, want a higher one", got, to, a.FenceReserve)
			}
			b.releases(c, engine.Released)
		}
	}},
	{"fencer", "raising lowers nothing", func(b *testbed) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a).Fence
		b.raises(a, was+farAhead)
		b.raises(a, was)
		b.raises(a, 1)
		if got := b.granted(asRetry(a)).Fence; got != was+farAhead {
			b.errorf("the fence went from %d to %d", was+farAhead, got)
		}
		b.releases(a, engine.Released)
		if got := b.granted(b.fenced(b.ask(bob))).Fence; got <= was+farAhead {
			b.errorf("the fence is %d after %d", got, was+farAhead)
		}
	}},
	{"fencer", "raising to an existing fence still leaves the requested reserve", func(b *testbed) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a).Fence
		a.FenceReserve = farAhead
		b.raises(a, was)
		b.releases(a, engine.Released)
		if got := b.granted(b.fenced(b.ask(bob))).Fence; got <= was+farAhead {
			b.errorf("the fence is %d after fence %d with a reserve of %d, want a higher one", got, was, farAhead)
		}
	}},
	{"fencer", "a fence is raised for all entries of a named owner", func(b *testbed) {
		a, c := b.fenced(b.ask(ann)), b.fenced(b.ask(ann))
		b.granted(a)
		to := b.granted(c).Fence + farAhead
		b.raises(c, to)
		for _, r := range []engine.Request{asRetry(a), asRetry(c), b.fenced(b.ask(ann))} {
			if got := b.granted(r).Fence; got != to {
				b.errorf("the fence is %d, want %d", got, to)
			}
		}
	}},
	{"fencer", "a caller without the lock cannot raise a fence", func(b *testbed) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a)
		b.notRaised(b.fenced(b.ask(bob)), was.Fence+farAhead)
		b.notRaised(b.fenced(b.ask(ann)), was.Fence+farAhead)
		if got := b.granted(asRetry(a)); got != was {
			b.errorf("the grant went from %+v to %+v", was, got)
		}
		b.releases(a, engine.Released)
		if got := b.granted(b.fenced(b.ask(eve))).Fence; got > was.Fence+farAhead {
			b.errorf("the fence went from %d to %d", was.Fence, got)
		}
	}},
	{"fencer", "a former holder cannot raise a fence", func(b *testbed) {
		a, c := b.fenced(b.ask(ann)), b.fenced(b.ask(bob))
		b.notRaised(a, farAhead)
		g := b.granted(a)
		b.releases(a, engine.Released)
		b.notRaised(a, g.Fence+farAhead)
		b.granted(c)
		b.sleepPastLease()
		b.notRaised(c, g.Fence+farAhead)
		b.free(a)
	}},
	{"fencer", "raising a fence does not prolong the lease", func(b *testbed) {
		a := b.fenced(b.ask(ann))
		g := b.granted(a)
		b.sleepMostOfLease()
		b.raises(a, g.Fence+farAhead)
		b.sleepMostOfLease()
		b.free(a)
	}},
	{"fencer", "a raise whose context is done changes nothing", func(b *testbed) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a)
		b.wantCanceled(b.fencer().Raise(b.doneContext(), a, was.Fence+farAhead))
		if got := b.granted(asRetry(a)); got != was {
			b.errorf("the grant went from %+v to %+v", was, got)
		}
	}},
	{"fencer", "the fence of a shared lock cannot be raised", func(b *testbed) {
		r := b.read(ann)
		b.granted(r)
		if err := b.fencer().Raise(b.ctx, r, farAhead); !errors.Is(err, errors.ErrUnsupported) {
			b.errorf("raise: %v, want %v", err, errors.ErrUnsupported)
		}
	}},
}

// fencer returns the fencer of the engine. Without one it skips the law.
func (b *testbed) fencer() engine.Fencer {
	f := b.Capabilities().Fencer
	if f == nil {
		b.skip("the engine has no fencer")
	}
	return f
}

// fenced returns r with Fenced. Without a fencer it skips the law.
func (b *testbed) fenced(r engine.Request) engine.Request {
	b.fencer()
	r.Fenced = true
	return r
}

// raises requires that r's fence can be raised.
func (b *testbed) raises(r engine.Request, fence uint64) {
	if err := b.fencer().Raise(b.ctx, r, fence); err != nil {
		b.fatalf("raise for %s: %v", nameOf(r.Holder), err)
	}
}

// notRaised requires that raising r's fence fails with ErrNotHolder.
func (b *testbed) notRaised(r engine.Request, fence uint64) {
	if err := b.fencer().Raise(b.ctx, r, fence); !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("raise for %s: error %v, want %v", nameOf(r.Holder), err, engine.ErrNotHolder)
	}
}
