package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Queues when the engine's clock is moved: no dead waiter blocks, and no live one
// is reordered (requirements T1, T14).
var clockLaws = []Law{
	{"clock", "a clock set back does not let a dead waiter block a fair lock", func(b *testbed) {
		b.deadWaiterExpires(b.fair)
	}},
	{"clock", "a clock set back does not let a dead writer block a lock", func(b *testbed) {
		b.deadWaiterExpires(b.write)
	}},
	{"clock", "a clock set back does not let a dead waiter block a permit", func(b *testbed) {
		b.deadWaiterExpires(b.singlePermit)
	}},
	{"clock", "a clock set back does not let a dead writer keep readers out", func(b *testbed) {
		a, clock := b.withLongLease(b.read(ann)), b.clock()
		b.granted(a)
		b.busy(withQueueLease(b.write(bob), b.Lease))
		clock.Step(-time.Hour)
		b.busy(withQueueLease(b.read(eve), b.Lease))
		b.sleepPastLease()
		b.granted(b.read(eve))
	}},
	{"clock", "a clock set back expires no queue position early", func(b *testbed) {
		a, clock := b.withLongLease(b.fair(ann)), b.clock()
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		clock.Step(-time.Hour)
		b.releases(a, engine.Released)
		b.busy(withQueueLease(b.fair(eve), b.Lease))
		b.sleepMostOfLease()
		b.first(b.busy(withQueueLease(b.fair(eve), b.Lease)), bob)
		b.granted(c)
	}},
	{"clock", "waiters for a fair lock keep their order when the clock is set forward", func(b *testbed) {
		b.waitersKeepOrder(b.fair)
	}},
	{"clock", "waiting writers keep their order when the clock is set forward", func(b *testbed) {
		b.waitersKeepOrder(b.write)
	}},
	{"clock", "waiters for a permit keep their order when the clock is set forward", func(b *testbed) {
		b.waitersKeepOrder(b.singlePermit)
	}},
}

// noClock is why a law does not apply to an engine whose clock cannot be moved.
const noClock = "the engine has no clock that can be stepped"

// clock returns the engine as a stepper. If its clock cannot be moved, it skips the law.
func (b *testbed) clock() stepper {
	clock, ok := b.Engine.(stepper)
	if !ok {
		b.skip(noClock)
	}
	return clock
}

// singlePermit returns a new request for the only permit of a semaphore.
func (b *testbed) singlePermit(holder string) engine.Request { return b.permit(holder, 1) }

// deadWaiterExpires requires that the position of a dead waiter expires although the clock
// was set back. Then the live waiter behind it gets the free lock.
func (b *testbed) deadWaiterExpires(ask func(holder string) engine.Request) {
	a, clock := b.withLongLease(ask(ann)), b.clock()
	b.granted(a)
	b.busy(withQueueLease(ask(bob), b.Lease))
	c := withQueueLease(ask(eve), b.Lease)
	b.busy(c)
	clock.Step(-time.Hour)
	b.releases(a, engine.Released)
	b.busy(c)
	b.sleepMostOfLease()
	b.busy(c)
	b.sleep(b.Lease * 7 / 10)
	b.granted(c)
}

// waitersKeepOrder requires that waiters are served in order. By the clock their positions
// have expired, and the last waiter asks again first.
func (b *testbed) waitersKeepOrder(ask func(holder string) engine.Request) {
	a, clock, queueLease := b.withLongLease(ask(ann)), b.clock(), 4*b.Lease
	b.granted(a)
	var queue []engine.Request
	for i := range 3 {
		r := withQueueLease(b.withLongLease(ask(caller(i))), queueLease)
		b.busy(r)
		queue = append(queue, r)
	}
	clock.Step(queueLease * 3 / 2)
	for i := range queue {
		b.busy(queue[len(queue)-1-i])
	}
	b.releases(a, engine.Released)
	b.servedInOrder(queue)
}
