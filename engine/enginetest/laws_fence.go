package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// The number that grows with every change of holder.
var fenceLaws = []Law{
	{"fence", "a fence is above zero", func(b *testbed) {
		if g := b.granted(b.ask(ann)); g.Fence == 0 {
			b.errorf("the fence is 0")
		}
	}},
	{"fence", "fences rise with every change of holder", func(b *testbed) {
		b.fencesRise(func(r engine.Request) { b.releases(r, engine.Released) }, ann, bob, ann, eve)
	}},
	{"fence", "fences rise when the same holder returns", func(b *testbed) {
		b.fencesRise(func(r engine.Request) { b.releases(r, engine.Released) }, ann, ann, ann)
	}},
	{"fence", "fences rise when a lease expires", func(b *testbed) {
		b.fencesRise(func(engine.Request) { b.sleepPastLease() }, ann, bob)
	}},
	{"fence", "fences rise when a hold is abandoned", func(b *testbed) {
		b.fencesRise(func(r engine.Request) { b.abandons(r, engine.Released) }, ann, bob)
	}},
	{"fence", "fences of a fenced lock rise strictly however fast it changes hands", func(b *testbed) {
		var last uint64
		for i := range 200 {
			r := b.ask(caller(i))
			r.Fenced = true
			g := b.granted(r)
			if g.Fence <= last {
				b.fatalf("grant %d has fence %d after %d", i, g.Fence, last)
			}
			last = g.Fence
			b.releases(r, engine.Released)
		}
	}},
	{"fence", "a fence leaves the requested reserve", func(b *testbed) {
		var below uint64
		for i := range 10 {
			r := b.ask(caller(i))
			r.Fenced, r.FenceReserve = true, 1_000_000 // one second, if fences were the time in microseconds
			g := b.granted(r)
			if g.Fence <= below {
				b.fatalf("fence %d is in the reserve of the fence before it, which ends at %d", g.Fence, below)
			}
			below = g.Fence + r.FenceReserve
			b.releases(r, engine.Released)
		}
	}},
	{"fence", "a fenced attempt that is repeated keeps its fence", func(b *testbed) {
		r := b.ask(ann)
		r.Fenced, r.FenceReserve = true, 1000
		first, second := b.granted(r), b.granted(asRetry(r))
		if first.Fence != second.Fence {
			b.errorf("the fence went from %d to %d", first.Fence, second.Fence)
		}
	}},
	{"fence", "fences of a fenced lock rise although the clock was set back", func(b *testbed) {
		clock, r, c := b.clock(), b.ask(ann), b.ask(bob)
		r.Fenced, c.Fenced = true, true
		first := b.granted(r)
		b.releases(r, engine.Released)
		clock.Step(-time.Hour)
		if second := b.granted(c); second.Fence <= first.Fence {
			b.errorf("the fence went from %d to %d when the clock went back", first.Fence, second.Fence)
		}
	}},
}

// fencesRise requires that each holder gets a larger fence than the one before it, with
// and without Fenced. end ends a hold.
func (b *testbed) fencesRise(end func(engine.Request), holders ...string) {
	for _, name := range []string{"plain", "fenced"} {
		var last uint64
		for i, holder := range holders {
			r := b.askFor(name, holder)
			r.Fenced = name == "fenced"
			g := b.granted(r)
			if g.Fence <= last {
				b.fatalf("the fence of a %s lock went from %d to %d", name, last, g.Fence)
			}
			last = g.Fence
			if i < len(holders)-1 {
				end(r)
			}
		}
	}
}
