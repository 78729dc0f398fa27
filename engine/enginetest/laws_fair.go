package enginetest

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// Order of arrival: T1's fair locks, and the click order of T14's flash sale.
var fairLaws = []Law{
	{"fair", "a free fair lock is granted", func(b *testbed) {
		a := b.fair(ann)
		if g := b.granted(a); g.Count != 1 || g.Fence == 0 {
			b.errorf("got %+v, want a count of 1 and a fence", g)
		}
		b.heldBy(a)
		b.releases(a, engine.Released)
		b.free(a)
	}},
	{"fair", "a fair lock is granted in order of arrival", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		queue := b.queueOf(3, b.fair)
		b.releases(a, engine.Released)
		b.servedInOrder(queue)
	}},
	{"fair", "twenty waiters are served in order", func(b *testbed) {
		b.ignoringTime(func() {
			a := b.withLongLease(b.fair(ann))
			b.granted(a)
			queue := b.queueOf(20, b.fair)
			b.releases(a, engine.Released)
			b.servedInOrder(queue)
		})
	}},
	{"fair", "no caller overtakes a waiter even when the lock is free", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.releases(a, engine.Released)
		b.busy(b.fair(eve))
		b.queued(b.fair(ann))
		b.granted(c)
	}},
	{"fair", "a refusal of a free lock names the first waiter and when its position expires", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(withQueueLease(b.fair(bob), 2*b.Lease))
		b.queued(b.fair(caller(1)))
		b.releases(a, engine.Released)
		busy := b.busy(b.fair(eve))
		b.first(busy, bob)
		if busy.Left <= b.Lease || busy.Left > 2*b.Lease {
			b.errorf("Left is %v, want more than one lease and at most the QueueLease of %v", busy.Left, 2*b.Lease)
		}
	}},
	{"fair", "a refusal of a held lock names the holder and not a waiter", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		b.queued(b.fair(bob))
		busy := b.busy(b.fair(eve))
		b.first(busy, ann)
		if busy.Left <= 0 || busy.Left > b.Lease {
			b.errorf("Left is %v, want more than 0 and at most the lease of %v", busy.Left, b.Lease)
		}
	}},
	{"fair", "a refusal says how many waiters are ahead", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		for i := range 3 {
			b.ahead(b.busy(withQueueLease(b.fair(caller(i)), 50*b.Lease)), i)
		}
		b.ahead(b.busy(b.fair(eve)), 3)
	}},
	{"fair", "the number of waiters ahead falls with each grant", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		queue := b.queueOf(3, b.fair)
		b.ahead(b.busy(queue[2]), 2)
		b.releases(a, engine.Released)
		b.granted(queue[0])
		b.ahead(b.busy(queue[2]), 1)
	}},
	{"fair", "a fair lock whose lease expired is granted to the first waiter", func(b *testbed) {
		b.granted(b.fair(ann))
		queue := b.queueOf(2, b.fair)
		b.sleepPastLease()
		b.busy(queue[1])
		b.granted(queue[0])
	}},
	{"fair", "a renewed fair lock is not granted to a waiter", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.sleepMostOfLease()
		b.renewed(a)
		b.sleepMostOfLease()
		b.busy(c)
		b.heldBy(a)
	}},
	{"fair", "a repeated fair attempt keeps its fence although others wait", func(b *testbed) {
		a := b.fair(ann)
		first := b.granted(a)
		b.queued(b.fair(bob))
		if second := b.granted(asRetry(a)); second != first {
			b.errorf("the grant went from %+v to %+v", first, second)
		}
	}},
	{"fair", "a holder enters again without waiting in the queue", func(b *testbed) {
		first := b.granted(b.fair(ann))
		b.queued(b.fair(bob))
		if second := b.granted(b.fair(ann)); second.Count != 2 || second.Fence != first.Fence {
			b.errorf("got %+v after %+v, want a count of 2 and the same fence", second, first)
		}
	}},
	{"fair", "a named owner of a fair lock releases as often as it entered", func(b *testbed) {
		one, two := b.fair(ann), b.fair(ann)
		b.granted(one)
		b.granted(two)
		c := b.queued(b.fair(bob))
		if p := b.releases(one, engine.Released); p.Count != 1 {
			b.errorf("%d holds are left, want 1", p.Count)
		}
		b.busy(c)
		b.releases(two, engine.Released)
		b.granted(c)
	}},
	{"fair", "fences rise along the queue", func(b *testbed) {
		for _, variant := range []func(engine.Request) engine.Request{plain, fenced} {
			a := variant(b.fair(ann))
			last := b.granted(a).Fence
			queue := b.queueOf(3, func(holder string) engine.Request { return variant(b.fair(holder)) })
			b.releases(a, engine.Released)
			for _, r := range queue {
				g := b.granted(r)
				if g.Fence <= last {
					b.fatalf("the fence went from %d to %d", last, g.Fence)
				}
				last = g.Fence
				b.releases(r, engine.Released)
			}
		}
	}},
	{"fair", "a fair lock and an exclusive one on the same key are one lock", func(b *testbed) {
		a, c := b.fair(ann), b.ask(bob)
		b.granted(a)
		b.busy(c)
		b.releases(a, engine.Released)
		b.granted(c)
		b.first(b.busy(b.fair(eve)), bob)
		b.releases(c, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"fair", "an exclusive request may overtake the queue", func(b *testbed) {
		a, c := b.fair(ann), b.ask(eve)
		b.granted(a)
		d := b.queued(b.fair(bob))
		b.releases(a, engine.Released)
		b.granted(c)
		b.busy(d)
		b.releases(c, engine.Released)
		b.granted(d)
	}},
	{"fair", "an exclusive request is never queued", func(b *testbed) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(withQueueLease(b.ask(bob), 50*b.Lease))
		b.ahead(b.busy(withQueueLease(b.fair(eve), 50*b.Lease)), 0)
		b.releases(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"fair", "a release notifies the first waiter", func(b *testbed) {
		a := b.withLongLease(b.fair(ann))
		b.granted(a)
		queue := b.queueOf(2, b.fair)
		for _, r := range queue {
			wake, stop := b.listen(r)
			defer stop()
			b.notified(wake)
			b.releases(a, engine.Released)
			b.notified(wake)
			b.granted(r)
			a = r
		}
	}},
	{"fair", "a release by an exclusive holder notifies the first waiter", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		wake, stop := b.listen(c)
		defer stop()
		b.notified(wake)
		b.releases(a, engine.Released)
		b.notified(wake)
	}},
	{"fair", "a release by a fair holder notifies exclusive waiters", func(b *testbed) {
		a, c := b.fair(ann), b.ask(bob)
		b.granted(a)
		wake, stop := b.listen(c)
		defer stop()
		b.notified(wake)
		b.releases(a, engine.Released)
		b.notified(wake)
	}},
	{"fair", "of concurrent requests for a fair lock one is granted and the others are queued", func(b *testbed) {
		rs, busy := make([]engine.Request, 20), make([]*engine.BusyError, 20)
		for i := range rs {
			rs[i] = withQueueLease(b.withLongLease(b.fair(caller(i))), 50*b.Lease)
		}
		b.together(len(rs), func(i int) { busy[i] = b.refusal(rs[i]) })
		var ahead []int
		for _, refusal := range busy {
			if refusal != nil {
				ahead = append(ahead, refusal.Ahead)
			}
		}
		slices.Sort(ahead)
		for i := range len(rs) - 1 {
			if len(ahead) != len(rs)-1 || ahead[i] != i {
				b.fatalf("the refusals have %d waiters ahead, want 0 to %d", ahead, len(rs)-2)
			}
		}
	}},
}

// plain returns r unchanged.
func plain(r engine.Request) engine.Request { return r }
