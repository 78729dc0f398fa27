package enginetest

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Queue positions: dead waiters cost one QueueLease together, however many there are
// (requirements T1, T14).
var positionLaws = []Law{
	{"position", "a refusal without a QueueLease queues no caller", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(b.fair(bob))
		b.ahead(b.busy(b.fair(eve)), 0)
		b.releases(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "a grant takes no queue position", func(b *testbed) {
		a := withQueueLease(b.fair(ann), 50*b.Lease)
		b.granted(a)
		b.ahead(b.busy(b.fair(bob)), 0)
		b.releases(a, engine.Released)
		b.granted(b.fair(bob))
	}},
	{"position", "a repeated request keeps its position", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		queue := b.queueOf(2, b.fair)
		b.ahead(b.busy(asRetry(queue[0])), 0)
		b.ahead(b.busy(asRetry(queue[1])), 1)
		b.releases(a, engine.Released)
		b.servedInOrder(queue)
	}},
	{"position", "a repeated request has one position", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.busy(c)
		b.busy(asRetry(c))
		b.ahead(b.busy(b.fair(eve)), 1)
		b.releases(a, engine.Released)
		b.granted(c)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.releases(c, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "an expired position is skipped and the next waiter is granted", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := b.queued(b.fair(eve))
		b.releases(a, engine.Released)
		b.busy(c)
		b.sleepPastLease()
		b.granted(c)
	}},
	{"position", "a position does not expire early", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		b.releases(a, engine.Released)
		b.sleepMostOfLease()
		b.first(b.busy(b.fair(eve)), bob)
		b.granted(c)
	}},
	{"position", "a waiter that returns before it was overtaken keeps its position", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		d := b.queued(b.fair(eve))
		b.sleepPastLease()
		b.busy(d)
		b.ahead(b.busy(withQueueLease(c, 50*b.Lease)), 0)
		b.releases(a, engine.Released)
		b.busy(d)
		b.granted(c)
	}},
	{"position", "a waiter that returns after it was overtaken is queued at the end", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		queue := b.queueOf(2, b.fair)
		b.sleepPastLease()
		b.releases(a, engine.Released)
		b.granted(queue[0])
		b.ahead(b.busy(withQueueLease(c, 50*b.Lease)), 1)
		b.releases(queue[0], engine.Released)
		b.busy(c)
		b.granted(queue[1])
	}},
	{"position", "a waiter that returns in time keeps its position", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		d := b.queued(b.fair(eve))
		for range 3 {
			b.sleepMostOfLease()
			b.ahead(b.busy(c), 0)
		}
		b.releases(a, engine.Released)
		b.busy(d)
		b.granted(c)
	}},
	{"position", "a waiter that returns does not extend the positions of others", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := withQueueLease(b.fair(eve), b.Lease)
		b.ahead(b.busy(c), 1)
		b.sleepMostOfLease()
		b.busy(c)
		b.sleepMostOfLease()
		b.releases(a, engine.Released)
		b.granted(c)
	}},
	{"position", "several expired positions are skipped together", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		for i := range 10 {
			b.busy(withQueueLease(b.fair(caller(i)), b.Lease))
		}
		c := b.queued(b.fair(bob))
		b.releases(a, engine.Released)
		b.busy(c)
		b.sleepPastLease()
		b.granted(c)
	}},
	{"position", "an expired position in the middle of the queue is skipped", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		first := b.queued(b.fair(caller(1)))
		b.busy(withQueueLease(b.fair(caller(2)), b.Lease))
		third := b.queued(b.fair(caller(3)))
		b.sleepPastLease()
		b.releases(a, engine.Released)
		b.servedInOrder([]engine.Request{first, third})
	}},
	{"position", "a longer QueueLease expires later", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		b.queued(b.fair(bob))
		b.busy(withQueueLease(b.fair(caller(1)), b.Lease/2))
		b.sleepPastLease()
		b.releases(a, engine.Released)
		b.first(b.busy(b.fair(eve)), bob)
	}},
	{"position", "a release gives up the position", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.releases(c, engine.NotYours)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.releases(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "giving up a position leaves the others", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		queue := b.queueOf(3, b.fair)
		b.releases(queue[1], engine.NotYours)
		b.ahead(b.busy(queue[2]), 1)
		b.releases(a, engine.Released)
		b.servedInOrder([]engine.Request{queue[0], queue[2]})
	}},
	{"position", "giving up a position does not touch the holder", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.heldBy(a)
		b.renewed(a)
	}},
	{"position", "an abandon gives up the position", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.releases(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "an abandoned attempt gets no position when it arrives", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := withQueueLease(b.fair(bob), 50*b.Lease)
		b.abandons(c, engine.NotYours)
		b.refused(asRetry(c), engine.ErrAbandoned)
		b.ahead(b.busy(b.fair(eve)), 0)
	}},
	{"position", "an abandoned attempt is not granted when it becomes first", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.releases(a, engine.Released)
		b.refused(asRetry(c), engine.ErrAbandoned)
		b.granted(b.fair(eve))
	}},
	{"position", "the next waiter is notified when the first gives up its position and the lock is free", func(b *testbed) {
		for _, giveUp := range []func(engine.Request, engine.Outcome) engine.ReleaseResult{b.releases, b.abandons} {
			a := b.fair(ann)
			b.granted(a)
			queue := b.queueOf(2, b.fair)
			b.releases(a, engine.Released)
			wake, stop := b.listen(queue[1])
			defer stop()
			b.notified(wake)
			b.busy(queue[1])
			giveUp(queue[0], engine.AlreadyFree)
			b.notified(wake)
			b.granted(queue[1])
			b.releases(queue[1], engine.Released)
		}
	}},
	{"position", "a release notifies the next waiter although the position before it has expired", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := b.queued(b.fair(eve))
		wake, stop := b.listen(c)
		defer stop()
		b.notified(wake)
		b.sleepPastLease()
		drain(wake)
		b.releases(a, engine.Released)
		b.notified(wake)
		b.granted(c)
	}},
	{"position", "a position is kept while another lock of the same holder is released", func(b *testbed) {
		a, other := b.fair(ann), b.fair(bob)
		other.Key += "other"
		b.granted(a)
		b.granted(other)
		c := b.queued(b.fair(bob))
		b.releases(other, engine.Released)
		b.ahead(b.busy(b.fair(eve)), 1)
		b.releases(a, engine.Released)
		b.granted(c)
	}},
	{"position", "queues of different locks are independent", func(b *testbed) {
		b.ignoringTime(func() {
			for i := range 40 {
				a, c, d := b.withLongLease(b.fair(ann)), b.fair(bob), b.fair(eve)
				for _, r := range []*engine.Request{&a, &c, &d} {
					r.Key += fmt.Sprint(i)
				}
				b.granted(a)
				b.queued(c)
				b.ahead(b.busy(d), 1)
			}
		})
	}},
	{"position", "of a thousand waiters the live half is served in order", func(b *testbed) {
		b.ignoringTime(func() {
			a := b.withLongLease(b.fair(ann))
			b.granted(a)
			var alive []engine.Request
			for i := range 1000 {
				if r := b.withLongLease(b.fair(caller(i))); i%2 == 0 {
					b.busy(withQueueLease(r, b.Lease))
				} else {
					alive = append(alive, b.queued(r))
				}
			}
			b.sleepPastLease()
			b.releases(a, engine.Released)
			b.servedInOrder(alive)
		})
	}},
}

// refusal makes an attempt, and returns nil if it was granted. It may be called
// from any goroutine.
func (b *testbed) refusal(r engine.Request) *engine.BusyError {
	_, err := b.Acquire(b.ctx, r)
	var busy *engine.BusyError
	if err != nil && !errors.As(err, &busy) {
		b.errorf("acquire for %s: %v, want a grant or a *engine.BusyError", nameOf(r.Holder), err)
	}
	return busy
}
