package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// ahead of any clock: a second, if fences went by time alone.
const farAhead = 1_000_000

// Agreement of several engines on a fence (T11).
var fencerLaws = []Law{
	{"fencer", "a repeated attempt gets the raised fence", func(b *bench) {
		a := b.fenced(b.ask(ann))
		want := b.granted(a).Fence + farAhead
		b.raises(a, want)
		if got := b.granted(again(a)).Fence; got != want {
			b.errorf("the fence is %d, want %d", got, want)
		}
	}},
	{"fencer", "the next grant has a higher fence than a raised one", func(b *bench) {
		for _, end := range []func(engine.Request){
			func(r engine.Request) { b.leaves(r, engine.Released) },
			func(r engine.Request) { b.abandons(r, engine.Released) },
			func(engine.Request) { b.passAll() },
		} {
			a, c := b.fenced(b.ask(ann)), b.fenced(b.ask(bob))
			a.FenceReserve = 1000
			to := b.granted(a).Fence + farAhead
			b.raises(a, to)
			end(a)
			if got := b.granted(c).Fence; got <= to+a.FenceReserve {
				b.errorf("the fence is %d after %d with room for %d more", got, to, a.FenceReserve)
			}
			b.leaves(c, engine.Released)
		}
	}},
	{"fencer", "raising lowers nothing", func(b *bench) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a).Fence
		b.raises(a, was+farAhead)
		b.raises(a, was)
		b.raises(a, 1)
		if got := b.granted(again(a)).Fence; got != was+farAhead {
			b.errorf("the fence went from %d to %d", was+farAhead, got)
		}
		b.leaves(a, engine.Released)
		if got := b.granted(b.fenced(b.ask(bob))).Fence; got <= was+farAhead {
			b.errorf("the fence is %d after %d", got, was+farAhead)
		}
	}},
	{"fencer", "raising to an existing fence still leaves the requested reserve", func(b *bench) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a).Fence
		a.FenceReserve = farAhead
		b.raises(a, was)
		b.leaves(a, engine.Released)
		if got := b.granted(b.fenced(b.ask(bob))).Fence; got <= was+farAhead {
			b.errorf("the fence is %d after %d with room for %d more", got, was, farAhead)
		}
	}},
	{"fencer", "a fence is raised for all entries of a named owner", func(b *bench) {
		a, c := b.fenced(b.ask(ann)), b.fenced(b.ask(ann))
		b.granted(a)
		to := b.granted(c).Fence + farAhead
		b.raises(c, to)
		for _, r := range []engine.Request{again(a), again(c), b.fenced(b.ask(ann))} {
			if got := b.granted(r).Fence; got != to {
				b.errorf("the fence is %d, want %d", got, to)
			}
		}
	}},
	{"fencer", "a caller without the lock cannot raise a fence", func(b *bench) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a)
		b.unraised(b.fenced(b.ask(bob)), was.Fence+farAhead)
		b.unraised(b.fenced(b.ask(ann)), was.Fence+farAhead)
		if got := b.granted(again(a)); got != was {
			b.errorf("the grant went from %+v to %+v", was, got)
		}
		b.leaves(a, engine.Released)
		if got := b.granted(b.fenced(b.ask(eve))).Fence; got > was.Fence+farAhead {
			b.errorf("the fence went from %d to %d", was.Fence, got)
		}
	}},
	{"fencer", "a former holder cannot raise a fence", func(b *bench) {
		a, c := b.fenced(b.ask(ann)), b.fenced(b.ask(bob))
		b.unraised(a, farAhead)
		g := b.granted(a)
		b.leaves(a, engine.Released)
		b.unraised(a, g.Fence+farAhead)
		b.granted(c)
		b.passAll()
		b.unraised(c, g.Fence+farAhead)
		b.free(a)
	}},
	{"fencer", "raising a fence does not prolong the lease", func(b *bench) {
		a := b.fenced(b.ask(ann))
		g := b.granted(a)
		b.passMost()
		b.raises(a, g.Fence+farAhead)
		b.passMost()
		b.free(a)
	}},
	{"fencer", "a raise whose context is done changes nothing", func(b *bench) {
		a := b.fenced(b.ask(ann))
		was := b.granted(a)
		b.cancelled(b.fencer().Raise(b.done(), a, was.Fence+farAhead))
		if got := b.granted(again(a)); got != was {
			b.errorf("the grant went from %+v to %+v", was, got)
		}
	}},
	{"fencer", "the fence of a shared lock cannot be raised", func(b *bench) {
		r := b.read(ann)
		b.granted(r)
		if err := b.fencer().Raise(b.ctx, r, farAhead); !errors.Is(err, errors.ErrUnsupported) {
			b.errorf("raise: %v, want %v", err, errors.ErrUnsupported)
		}
	}},
}

// fencer is the engine's. Without one it skips the law.
func (b *bench) fencer() engine.Fencer {
	f := b.Capabilities().Fencer
	if f == nil {
		b.skip("the engine has no fencer")
	}
	return f
}

// fenced is r with a fence that rises strictly.
func (b *bench) fenced(r engine.Request) engine.Request {
	b.fencer()
	r.Fenced = true
	return r
}

// raises demands that r's fence can be raised.
func (b *bench) raises(r engine.Request, fence uint64) {
	if err := b.fencer().Raise(b.ctx, r, fence); err != nil {
		b.fatalf("raise for %s: %v", who(r.Holder), err)
	}
}

// unraised demands that r is told it does not hold the lock.
func (b *bench) unraised(r engine.Request, fence uint64) {
	if err := b.fencer().Raise(b.ctx, r, fence); !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("raise for %s: error %v, want %v", who(r.Holder), err, engine.ErrNotHolder)
	}
}
