package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Queues when the engine's clock is moved: no dead waiter blocks, and no live one
// is reordered (T1, T14).
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
		b.busy(withQueueLease(b.write(bob), b.Lease))
		clock.Step(-time.Hour)
		b.busy(withQueueLease(b.read(eve), b.Lease))
		b.passAll()
		b.granted(b.read(eve))
	}},
	{"clock", "a clock set back expires no queue position early", func(b *bench) {
		a, clock := b.forLong(b.fair(ann)), b.clock()
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		clock.Step(-time.Hour)
		b.leaves(a, engine.Released)
		b.busy(withQueueLease(b.fair(eve), b.Lease))
		b.passMost()
		b.first(b.busy(withQueueLease(b.fair(eve), b.Lease)), bob)
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

// noClock is why a law does not apply to an engine whose clock cannot be moved.
const noClock = "the engine has no clock that can be stepped"

// clock is that of the engine. Without a settable one it skips the law.
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
	b.busy(withQueueLease(ask(bob), b.Lease))
	c := withQueueLease(ask(eve), b.Lease)
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
// clock says that their positions have expired, and the last comes back first.
func (b *bench) keepTheirOrder(ask func(holder string) engine.Request) {
	a, clock, place := b.forLong(ask(ann)), b.clock(), 4*b.Lease
	b.granted(a)
	var line []engine.Request
	for i := range 3 {
		r := withQueueLease(b.forLong(ask(caller(i))), place)
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
