package enginetest

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Queue positions: a dead waiter costs one QueueLease, however many there are (T1,
// T14).
var placeLaws = []Law{
	{"position", "a refusal without a QueueLease queues no caller", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(b.fair(bob))
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "a grant takes no queue position", func(b *bench) {
		a := withQueueLease(b.fair(ann), 50*b.Lease)
		b.granted(a)
		b.ahead(b.busy(b.fair(bob)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(bob))
	}},
	{"position", "a repeated request keeps its position", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		line := b.queueOf(2, b.fair)
		b.ahead(b.busy(again(line[0])), 0)
		b.ahead(b.busy(again(line[1])), 1)
		b.leaves(a, engine.Released)
		b.servedInOrder(line)
	}},
	{"position", "a repeated request has one position", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.busy(c)
		b.busy(again(c))
		b.ahead(b.busy(b.fair(eve)), 1)
		b.leaves(a, engine.Released)
		b.granted(c)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(c, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "an expired position is skipped and the next waiter is granted", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := b.queued(b.fair(eve))
		b.leaves(a, engine.Released)
		b.busy(c)
		b.passAll()
		b.granted(c)
	}},
	{"position", "a position does not expire early", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		b.leaves(a, engine.Released)
		b.passMost()
		b.first(b.busy(b.fair(eve)), bob)
		b.granted(c)
	}},
	{"position", "a waiter that returns before it was overtaken keeps its position", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		d := b.queued(b.fair(eve))
		b.passAll()
		b.busy(d)
		b.ahead(b.busy(withQueueLease(c, 50*b.Lease)), 0)
		b.leaves(a, engine.Released)
		b.busy(d)
		b.granted(c)
	}},
	{"position", "a waiter that returns after it was overtaken is queued at the end", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		line := b.queueOf(2, b.fair)
		b.passAll()
		b.leaves(a, engine.Released)
		b.granted(line[0])
		b.ahead(b.busy(withQueueLease(c, 50*b.Lease)), 1)
		b.leaves(line[0], engine.Released)
		b.busy(c)
		b.granted(line[1])
	}},
	{"position", "a waiter that returns in time keeps its position for ever", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		c := withQueueLease(b.fair(bob), b.Lease)
		b.busy(c)
		d := b.queued(b.fair(eve))
		for range 3 {
			b.passMost()
			b.ahead(b.busy(c), 0)
		}
		b.leaves(a, engine.Released)
		b.busy(d)
		b.granted(c)
	}},
	{"position", "a waiter that returns does not extend the positions of others", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := withQueueLease(b.fair(eve), b.Lease)
		b.ahead(b.busy(c), 1)
		b.passMost()
		b.busy(c)
		b.passMost()
		b.leaves(a, engine.Released)
		b.granted(c)
	}},
	{"position", "several expired positions are skipped together", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		for i := range 10 {
			b.busy(withQueueLease(b.fair(caller(i)), b.Lease))
		}
		c := b.queued(b.fair(bob))
		b.leaves(a, engine.Released)
		b.busy(c)
		b.passAll()
		b.granted(c)
	}},
	{"position", "a position that expires in the middle closes the gap", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		first := b.queued(b.fair(caller(1)))
		b.busy(withQueueLease(b.fair(caller(2)), b.Lease))
		third := b.queued(b.fair(caller(3)))
		b.passAll()
		b.leaves(a, engine.Released)
		b.servedInOrder([]engine.Request{first, third})
	}},
	{"position", "a longer QueueLease expires later", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		b.queued(b.fair(bob))
		b.busy(withQueueLease(b.fair(caller(1)), b.Lease/2))
		b.passAll()
		b.leaves(a, engine.Released)
		b.first(b.busy(b.fair(eve)), bob)
	}},
	{"position", "a release gives up the position", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.leaves(c, engine.NotYours)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "giving up a position leaves the others", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		line := b.queueOf(3, b.fair)
		b.leaves(line[1], engine.NotYours)
		b.ahead(b.busy(line[2]), 1)
		b.leaves(a, engine.Released)
		b.servedInOrder([]engine.Request{line[0], line[2]})
	}},
	{"position", "giving up a position does not touch the holder", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.held(a)
		b.renewed(a)
	}},
	{"position", "an abandon gives up the position", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"position", "an abandoned attempt gets no position when it arrives", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := withQueueLease(b.fair(bob), 50*b.Lease)
		b.abandons(c, engine.NotYours)
		b.refused(again(c), engine.ErrAbandoned)
		b.ahead(b.busy(b.fair(eve)), 0)
	}},
	{"position", "an abandoned attempt is not granted when it becomes first", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.leaves(a, engine.Released)
		b.refused(again(c), engine.ErrAbandoned)
		b.granted(b.fair(eve))
	}},
	{"position", "the next waiter is notified when the first gives up its position and the lock is free", func(b *bench) {
		for _, giveUp := range []func(engine.Request, engine.Outcome) engine.ReleaseResult{b.leaves, b.abandons} {
			a := b.fair(ann)
			b.granted(a)
			line := b.queueOf(2, b.fair)
			b.leaves(a, engine.Released)
			wake, stop := b.listen(line[1])
			defer stop()
			b.told(wake)
			b.busy(line[1])
			giveUp(line[0], engine.AlreadyFree)
			b.told(wake)
			b.granted(line[1])
			b.leaves(line[1], engine.Released)
		}
	}},
	{"position", "a release notifies the next waiter although the position before it has expired", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := b.queued(b.fair(eve))
		wake, stop := b.listen(c)
		defer stop()
		b.told(wake)
		b.passAll()
		drain(wake)
		b.leaves(a, engine.Released)
		b.told(wake)
		b.granted(c)
	}},
	{"position", "a position is kept while another lock of the same holder is released", func(b *bench) {
		a, other := b.fair(ann), b.fair(bob)
		other.Key += "other"
		b.granted(a)
		b.granted(other)
		c := b.queued(b.fair(bob))
		b.leaves(other, engine.Released)
		b.ahead(b.busy(b.fair(eve)), 1)
		b.leaves(a, engine.Released)
		b.granted(c)
	}},
	{"position", "queues of different locks are independent", func(b *bench) {
		b.patiently(func() {
			for i := range 40 {
				a, c, d := b.forLong(b.fair(ann)), b.fair(bob), b.fair(eve)
				for _, r := range []*engine.Request{&a, &c, &d} {
					r.Key += fmt.Sprint(i)
				}
				b.granted(a)
				b.queued(c)
				b.ahead(b.busy(d), 1)
			}
		})
	}},
	{"position", "of a thousand waiters the live half is served in order", func(b *bench) {
		b.patiently(func() {
			a := b.forLong(b.fair(ann))
			b.granted(a)
			var alive []engine.Request
			for i := range 1000 {
				if r := b.forLong(b.fair(caller(i))); i%2 == 0 {
					b.busy(withQueueLease(r, b.Lease))
				} else {
					alive = append(alive, b.queued(r))
				}
			}
			b.passAll()
			b.leaves(a, engine.Released)
			b.servedInOrder(alive)
		})
	}},
}

// refusal makes an attempt, and returns nil if it was granted. It may be called
// from any goroutine.
func (b *bench) refusal(r engine.Request) *engine.BusyError {
	_, err := b.Acquire(b.ctx, r)
	var busy *engine.BusyError
	if err != nil && !errors.As(err, &busy) {
		b.errorf("acquire for %s: %v, want a grant or a *engine.BusyError", who(r.Holder), err)
	}
	return busy
}
