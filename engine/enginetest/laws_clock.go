package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// What becomes of a line when the engine's clock is set: no dead waiter is in the
// way for longer, and none that lives loses its turn. T1, T14.
var clockLaws = []Law{
	{"clock", "a clock set back does not let a dead waiter block a fair lock", func(b *bench) {
		b.outlivesTheDead(b.fair)
	}},
	{"clock", "a clock set back does not let a dead writer block a lock", func(b *bench) {
		b.outlivesTheDead(b.write)
	}},
	{"clock", "a clock set back does not let a dead waiter block a permit", func(b *bench) {
		b.outlivesTheDead(b.single)
	}},
	{"clock", "a clock set back does not let a dead writer keep readers out", func(b *bench) {
		a, clock := b.forLong(b.read(ann)), b.clock()
		b.granted(a)
		b.busy(placed(b.write(bob), b.Lease))
		clock.Step(-time.Hour)
		b.busy(placed(b.read(eve), b.Lease))
		b.passAll()
		b.granted(b.read(eve))
	}},
	{"clock", "a clock set back expires no queue position early", func(b *bench) {
		a, clock := b.forLong(b.fair(ann)), b.clock()
		b.granted(a)
		c := placed(b.fair(bob), b.Lease)
		b.busy(c)
		clock.Step(-time.Hour)
		b.leaves(a, engine.Released)
		b.busy(placed(b.fair(eve), b.Lease))
		b.passMost()
		b.first(b.busy(placed(b.fair(eve), b.Lease)), bob)
		b.granted(c)
	}},
	{"clock", "waiters for a fair lock keep their order when the clock is set forward", func(b *bench) {
		b.keepTheirOrder(b.fair)
	}},
	{"clock", "waiting writers keep their order when the clock is set forward", func(b *bench) {
		b.keepTheirOrder(b.write)
	}},
	{"clock", "waiters for a permit keep their order when the clock is set forward", func(b *bench) {
		b.keepTheirOrder(b.single)
	}},
}

// noClock is why a law does not apply to an engine whose clock nobody can set.
const noClock = "the engine has no clock that can be stepped"

// clock is that of the engine. It ends the law if there is none that can be set.
func (b *bench) clock() stepper {
	clock, ok := b.Engine.(stepper)
	if !ok {
		b.skip(noClock)
	}
	return clock
}

// single is a new acquisition of the only permit there is.
func (b *bench) single(holder string) engine.Request { return b.permit(holder, 1) }

// outlivesTheDead demands that who comes back gets a free lock once the place of
// the one before it, who does not, could have ended, though the clock was set back.
func (b *bench) outlivesTheDead(ask func(holder string) engine.Request) {
	a, clock := b.forLong(ask(ann)), b.clock()
	b.granted(a)
	b.busy(placed(ask(bob), b.Lease))
	c := placed(ask(eve), b.Lease)
	b.busy(c)
	clock.Step(-time.Hour)
	b.leaves(a, engine.Released)
	b.busy(c)
	b.passMost()
	b.busy(c)
	b.pass(b.Lease * 7 / 10)
	b.granted(c)
}

// keepTheirOrder demands that those in line are served in order although the
// clock says that nobody came for their places, and the last comes back first.
func (b *bench) keepTheirOrder(ask func(holder string) engine.Request) {
	a, clock, place := b.forLong(ask(ann)), b.clock(), 4*b.Lease
	b.granted(a)
	var line []engine.Request
	for i := range 3 {
		r := placed(b.forLong(ask(somebody(i))), place)
		b.busy(r)
		line = append(line, r)
	}
	clock.Step(place * 3 / 2)
	for i := range line {
		b.busy(line[len(line)-1-i])
	}
	b.leaves(a, engine.Released)
	b.servedInOrder(line)
}
