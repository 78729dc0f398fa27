package enginetest

import (
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Permits of a semaphore and their order: T1.
var permitLaws = []Law{
	{"permit", "all permits are granted", func(b *testbed) {
		for i := range 3 {
			if g := b.granted(b.permit(caller(i), 3)); g.Fence == 0 {
				b.errorf("the fence is 0")
			}
		}
		b.busy(b.permit(ann, 3))
	}},
	{"permit", "a permit that is released is granted again", func(b *testbed) {
		a := b.permit(ann, 2)
		b.granted(a)
		b.granted(b.permit(bob, 2))
		b.busy(b.permit(eve, 2))
		b.releases(a, engine.Released)
		b.granted(b.permit(eve, 2))
		b.busy(b.permit(ann, 2))
	}},
	{"permit", "a permit that is released twice is released once", func(b *testbed) {
		a := b.permit(ann, 2)
		b.granted(a)
		b.granted(b.permit(bob, 2))
		b.releases(a, engine.Released)
		b.releases(a, engine.NotYours)
		b.granted(b.permit(eve, 2))
		b.busy(b.permit(ann, 2))
	}},
	{"permit", "releasing a permit that is not held finds it already free", func(b *testbed) {
		a := b.permit(ann, 1)
		b.releases(a, engine.AlreadyFree)
		b.granted(a)
		b.releases(a, engine.Released)
		b.releases(a, engine.AlreadyFree)
	}},
	{"permit", "a caller cannot release the permit of another caller", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		b.releases(b.permit(bob, 1), engine.NotYours)
		b.releases(b.permit(ann, 1), engine.NotYours)
		b.renewed(a)
		b.busy(b.permit(eve, 1))
	}},
	{"permit", "a repeated attempt is one permit with one fence", func(b *testbed) {
		a := b.permit(ann, 2)
		first := b.granted(a)
		if second := b.granted(asRetry(a)); second != first {
			b.errorf("the grant went from %+v to %+v", first, second)
		}
		b.granted(b.permit(bob, 2))
		b.granted(asRetry(a)) // although no permit is left
		b.busy(b.permit(eve, 2))
	}},
	{"permit", "each attempt of a holder is a separate permit", func(b *testbed) {
		one, two := b.permit(ann, 2), b.permit(ann, 2)
		b.granted(one)
		b.granted(two)
		b.busy(b.permit(ann, 2))
		b.releases(one, engine.Released)
		b.notRenewed(one)
		b.renewed(two)
		b.granted(b.permit(bob, 2))
	}},
	{"permit", "fences of permits rise", func(b *testbed) {
		for _, variant := range []func(engine.Request) engine.Request{plain, fenced} {
			a, c := variant(b.permit(ann, 1)), variant(b.permit(bob, 1))
			first := b.granted(a).Fence
			b.releases(a, engine.Released)
			if second := b.granted(c).Fence; second <= first {
				b.errorf("the fence went from %d to %d", first, second)
			}
			b.releases(c, engine.Released)
		}
	}},
	{"permit", "a permit that is not renewed expires", func(b *testbed) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.sleepMostOfLease()
		b.renewed(c)
		b.sleep(b.Lease * 7 / 10)
		b.granted(b.permit(eve, 2))
		b.busy(b.permit(ann, 2))
	}},
	{"permit", "a renewal does not restore a permit", func(b *testbed) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(withLease(a, b.Lease/2))
		b.granted(c)
		b.sleepMostOfLease()
		b.notRenewed(a)
		b.renewed(c)
		b.releases(a, engine.NotYours)
		b.granted(b.permit(eve, 2))
	}},
	{"permit", "a permit with a short lease does not shorten the lease of another", func(b *testbed) {
		a, c := withLease(b.permit(ann, 2), 3*b.Lease), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.renewed(c)
		b.sleepPastLease()
		b.renewed(a)
		b.first(b.busy(b.permit(eve, 1)), ann)
	}},
	{"permit", "a refusal names a holder of a permit and how much of its lease is left", func(b *testbed) {
		b.granted(b.permit(ann, 2))
		b.granted(b.permit(bob, 2))
		busy := b.busy(b.permit(eve, 2))
		b.first(busy, ann, bob)
		if busy.Left <= 0 || busy.Left > b.Lease {
			b.errorf("Left is %v, want more than 0 and at most the lease of %v", busy.Left, b.Lease)
		}
	}},
	{"permit", "an abandoned permit is free and stays refused", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.refused(asRetry(a), engine.ErrAbandoned)
		b.granted(b.permit(bob, 1))
	}},
	{"permit", "a smaller limit grants no permit until fewer permits are held", func(b *testbed) {
		rs := []engine.Request{b.permit(ann, 3), b.permit(bob, 3), b.permit(eve, 3)}
		for _, r := range rs {
			b.granted(r)
		}
		b.busy(b.permit(caller(1), 2))
		b.releases(rs[0], engine.Released)
		b.busy(b.permit(caller(1), 2))
		b.releases(rs[1], engine.Released)
		b.granted(b.permit(caller(1), 2))
	}},
	{"permit", "a smaller limit revokes no permit", func(b *testbed) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.busy(b.permit(eve, 1))
		b.renewed(a)
		b.renewed(c)
		b.granted(asRetry(a))
	}},
	{"permit", "a larger limit grants more", func(b *testbed) {
		b.granted(b.permit(ann, 1))
		b.busy(b.permit(bob, 1))
		b.granted(b.permit(bob, 2))
		b.busy(b.permit(eve, 2))
	}},
	{"permit", "a limit of zero or less is refused", func(b *testbed) {
		for _, limit := range []int{0, -1} {
			b.rejected(errOf(b.Acquire(b.ctx, b.permit(ann, limit))))
			b.rejected(errOf(b.Acquire(b.ctx, withQueueLease(b.permit(ann, limit), b.Lease))))
		}
		b.granted(b.permit(bob, 1))
	}},
	{"permit", "a released permit goes to the first waiter", func(b *testbed) {
		a := b.withLongLease(b.permit(ann, 1))
		b.granted(a)
		queue := b.queueOf(3, func(holder string) engine.Request { return b.permit(holder, 1) })
		b.ahead(b.busy(queue[2]), 2)
		b.releases(a, engine.Released)
		b.servedInOrder(queue)
	}},
	{"permit", "a request without a position does not overtake waiters", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		c := b.queued(b.permit(bob, 1))
		b.releases(a, engine.Released)
		b.first(b.busy(b.permit(eve, 1)), bob)
		b.busy(b.permit(ann, 1))
		b.granted(c)
	}},
	{"permit", "a larger limit does not overtake waiters", func(b *testbed) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		first := b.queued(b.permit(caller(1), 1))
		b.busy(b.permit(eve, 9))
		later := b.queued(b.permit(eve, 9))
		b.releases(a, engine.Released)
		b.busy(b.permit(ann, 9))
		b.busy(later)
		b.busy(first)
		b.releases(c, engine.Released)
		b.busy(later)
		b.granted(first)
		b.granted(later)
	}},
	{"permit", "a waiter with a larger limit is granted a permit when the waiter before it gives up", func(b *testbed) {
		b.granted(b.permit(ann, 1))
		first, later := b.queued(b.permit(bob, 1)), b.queued(b.permit(eve, 2))
		wake, stop := b.listen(later)
		defer stop()
		b.notified(wake)
		b.busy(later)
		b.releases(first, engine.NotYours)
		b.notified(wake)
		b.granted(later)
	}},
	{"permit", "a grant to a waiter with a smaller limit notifies the next waiter", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		first, later := b.queued(b.permit(bob, 1)), b.queued(b.permit(eve, 2))
		wake, stop := b.listen(later)
		defer stop()
		b.notified(wake)
		b.releases(a, engine.Released)
		b.busy(later)
		b.granted(first)
		b.notified(wake)
		b.granted(later)
	}},
	{"permit", "several waiters get several permits and each is notified", func(b *testbed) {
		one, two := b.permit(ann, 2), b.permit(ann, 2)
		b.granted(one)
		b.granted(two)
		queue := b.queueOf(3, func(holder string) engine.Request { return b.permit(holder, 2) })
		var wakes []<-chan struct{}
		for _, r := range queue {
			wake, stop := b.listen(r)
			defer stop()
			b.notified(wake)
			wakes = append(wakes, wake)
		}
		b.releases(one, engine.Released)
		b.releases(two, engine.Released)
		b.notified(wakes[0])
		b.granted(queue[0])
		b.notified(wakes[1])
		b.granted(queue[1])
		b.busy(queue[2])
	}},
	{"permit", "the next waiter is notified when the first gives up its position and a permit is free", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		queue := b.queueOf(2, func(holder string) engine.Request { return b.permit(holder, 1) })
		b.releases(a, engine.Released)
		wake, stop := b.listen(queue[1])
		defer stop()
		b.notified(wake)
		b.busy(queue[1])
		b.releases(queue[0], engine.AlreadyFree)
		b.notified(wake)
		b.granted(queue[1])
	}},
	{"permit", "each attempt of a holder has its own position", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		one, two := b.queued(b.permit(bob, 1)), b.queued(b.permit(bob, 1))
		b.ahead(b.busy(two), 1)
		b.releases(one, engine.NotYours)
		b.ahead(b.busy(two), 0)
		b.releases(a, engine.Released)
		b.granted(two)
	}},
	{"permit", "a position for a permit expires", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		b.busy(withQueueLease(b.permit(bob, 1), b.Lease))
		c := b.queued(b.permit(eve, 1))
		b.releases(a, engine.Released)
		b.busy(c)
		b.sleepPastLease()
		b.granted(c)
	}},
	{"permit", "an abandoned attempt gets no position for a permit", func(b *testbed) {
		a := b.permit(ann, 1)
		b.granted(a)
		c := b.queued(b.permit(bob, 1))
		b.abandons(c, engine.NotYours)
		b.refused(asRetry(c), engine.ErrAbandoned)
		b.ahead(b.busy(b.permit(eve, 1)), 0)
		b.releases(a, engine.Released)
		b.granted(b.permit(eve, 1))
	}},
	{"permit", "a holder of a permit queues for another", func(b *testbed) {
		b.granted(b.permit(ann, 2))
		a := b.permit(bob, 2)
		b.granted(a)
		c := b.queued(b.permit(eve, 2))
		b.ahead(b.busy(withQueueLease(b.permit(ann, 2), 50*b.Lease)), 1)
		b.releases(a, engine.Released)
		b.busy(b.permit(ann, 2))
		b.granted(c)
	}},
	{"permit", "there are never more holders than permits", func(b *testbed) {
		const limit = 3
		var inside atomic.Int32
		b.competeAs([]engine.Kind{engine.Permit}, limit, func(engine.Request) {
			if n := inside.Add(1); n > limit {
				b.errorf("%d holders are inside at once, want at most %d", n, limit)
			}
			time.Sleep(time.Millisecond) // lets others try to enter
			inside.Add(-1)
		})
	}},
}
