package enginetest

import (
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Forced release by an operator: T13.
var forceReleaseLaws = []Law{
	{"force-release", "a lock that is released by force is free", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.askKind(k, ann))
			b.forceRelease()
			c := b.askKind(conflicting(k), bob)
			b.granted(c)
			b.releases(c, engine.Released)
		})
	}},
	{"force-release", "a forced release returns the lock and its holders", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			a := b.askKind(k, ann)
			g := b.granted(a)
			l := b.forceRelease()
			if l.Key != a.Key || len(l.Holders) != 1 || l.Holders[0].Name != ann || l.Holders[0].Fence != g.Fence {
				b.errorf("ann holds %+v as %s, but ForceRelease returned %+v", g, k, l)
			}
		})
	}},
	{"force-release", "a forced release ends the holds of all readers", func(b *testbed) {
		b.inspector()
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.forceReleasedFrom(ann, bob)
		b.revoked(a)
		b.revoked(c)
		b.granted(b.write(eve))
	}},
	{"force-release", "a forced release ends all permits", func(b *testbed) {
		b.inspector()
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.forceReleasedFrom(ann, bob)
		b.revoked(a)
		b.revoked(c)
		b.granted(b.permit(eve, 1))
	}},
	{"force-release", "a forced release ends the read hold of a writer as well", func(b *testbed) {
		b.inspector()
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		b.forceRelease()
		b.revoked(write)
		b.revoked(read)
		b.granted(b.write(bob))
	}},
	{"force-release", "a renewal after a forced release fails as revoked", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			a := b.askKind(k, ann)
			b.granted(a)
			b.forceRelease()
			b.revoked(a)
		})
	}},
	{"force-release", "every entry of a named owner is revoked by a forced release", func(b *testbed) {
		b.inspector()
		one, two := b.ask(ann), b.ask(ann)
		b.granted(one)
		b.granted(two)
		b.forceRelease()
		b.revoked(one)
		b.revoked(two)
	}},
	{"force-release", "a revocation outlasts the lease", func(b *testbed) {
		b.inspector()
		a := b.ask(ann)
		b.granted(a)
		b.forceRelease()
		b.sleep(3 * b.Lease)
		b.revoked(a)
	}},
	{"force-release", "a revocation outlasts a long lease", func(b *testbed) {
		b.inspector()
		clock := b.clock()
		b.everyKind(func(k engine.Kind) {
			a := withLease(b.askKind(k, ann), time.Minute)
			b.granted(a)
			b.forceRelease()
			clock.Step(2 * time.Minute)
			b.revoked(a)
		})
	}},
	{"force-release", "a renewal fails as revoked although another holder has the lock now", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			a, c := b.askKind(k, ann), b.askKind(conflicting(k), bob)
			b.granted(a)
			b.forceRelease()
			b.granted(c)
			b.revoked(a)
			b.renewed(c)
			b.releases(c, engine.Released)
		})
	}},
	{"force-release", "a renewal by a holder that released before does not fail as revoked", func(b *testbed) {
		b.inspector()
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.releases(a, engine.Released)
		b.granted(c)
		b.forceRelease()
		if err := b.renew(a); errors.Is(err, engine.ErrRevoked) || !errors.Is(err, engine.ErrNotHolder) {
			b.errorf("error %v, want %v", err, engine.ErrNotHolder)
		}
	}},
	{"force-release", "a former holder does not change the new hold", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			a, c := b.askKind(k, ann), b.askKind(conflicting(k), bob)
			b.granted(a)
			b.forceRelease()
			b.releases(a, engine.AlreadyFree)
			first := b.granted(c)
			b.releases(a, engine.NotYours)
			if g := b.granted(asRetry(c)); g != first {
				b.errorf("the grant went from %+v to %+v", first, g)
			}
			b.releases(c, engine.Released)
		})
	}},
	{"force-release", "a former holder may acquire the lock again", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.askKind(k, ann))
			b.forceRelease()
			a := b.askKind(k, ann)
			if g := b.granted(a); g.Count != 1 {
				b.errorf("the count is %d, want 1", g.Count)
			}
			b.renewed(a)
			b.releases(a, engine.Released)
		})
	}},
	{"force-release", "fences rise across a forced release", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			for _, variant := range []func(engine.Request) engine.Request{plain, fenced} {
				a, c := variant(b.askKind(k, ann)), variant(b.askKind(conflicting(k), bob))
				first := b.granted(a).Fence
				b.forceRelease()
				if second := b.granted(c).Fence; second <= first {
					b.errorf("the fence of a lock held as %s went from %d to %d", k, first, second)
				}
				b.releases(c, engine.Released)
			}
		})
	}},
	{"force-release", "a forced release notifies waiters", func(b *testbed) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.askKind(k, ann))
			c := b.queued(b.askKind(conflicting(k), bob))
			wake, stop := b.listen(c)
			defer stop()
			b.notified(wake)
			b.forceRelease()
			b.notified(wake)
			b.granted(c)
			b.releases(c, engine.Released)
		})
	}},
	{"force-release", "waiters keep their positions across a forced release", func(b *testbed) {
		b.inspector()
		b.granted(b.fair(ann))
		queue := b.queueOf(2, b.fair)
		if l := b.forceRelease(); len(l.Waiters) != 2 {
			b.errorf("the waiters are %+v, want two", l.Waiters)
		}
		b.busy(b.fair(ann))
		b.servedInOrder(queue)
	}},
	{"force-release", "a forced release of a free lock returns no holders", func(b *testbed) {
		b.inspector()
		a := b.ask(ann)
		b.forceReleasedFrom()
		b.granted(a)
		b.releases(a, engine.Released)
		b.forceReleasedFrom()
		b.granted(b.ask(bob))
	}},
	{"force-release", "a forced release of a free lock empties its queue", func(b *testbed) {
		b.everyQueue(func(ask func(string) engine.Request) {
			b.queueForFreeLock(ask)
			c := ask(eve)
			if l := b.forceRelease(); len(l.Holders) != 0 || len(l.Waiters) != 2 || l.Waiters[0].Name != caller(0) {
				b.errorf("ForceRelease returned %+v, want two waiters and no holder", l)
			}
			b.granted(c)
			b.releases(c, engine.Released)
		})
	}},
	{"force-release", "a waiter of an emptied queue gets a new position", func(b *testbed) {
		b.everyQueue(func(ask func(string) engine.Request) {
			queue, c := b.queueForFreeLock(ask), b.withLongLease(ask(eve))
			b.forceRelease()
			b.granted(c)
			b.ahead(b.busy(queue[1]), 0)
			b.ahead(b.busy(queue[0]), 1)
			b.releases(c, engine.Released)
			b.servedInOrder([]engine.Request{queue[1], queue[0]})
		})
	}},
	{"force-release", "emptying a queue notifies all its waiters", func(b *testbed) {
		b.everyQueue(func(ask func(string) engine.Request) {
			queue := b.queueForFreeLock(ask)
			var wakes []<-chan struct{}
			for _, r := range queue {
				wake, stop := b.listen(r)
				defer stop()
				b.notified(wake)
				wakes = append(wakes, wake)
			}
			b.forceRelease()
			for i, wake := range wakes {
				b.notified(wake)
				b.granted(queue[i])
				b.releases(queue[i], engine.Released)
			}
		})
	}},
	{"force-release", "a forced release does not touch other locks", func(b *testbed) {
		b.inspector()
		a, c := b.ask(ann), b.askFor("other", ann)
		b.granted(a)
		b.granted(c)
		b.forceRelease()
		b.renewed(c)
		b.heldBy(c)
	}},
	{"force-release", "a forced release whose context is done changes nothing", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.wantCanceled(errOf(b.inspector().ForceRelease(b.doneContext(), a.Key)))
		b.renewed(a)
	}},
	{"force-release", "a forced release notifies the client of the holder", func(b *testbed) {
		i := b.inspector()
		a, c := b.read(b.client(1)+":1"), b.read(b.client(2)+":7")
		b.granted(a)
		b.granted(c)
		wakeOne, stopOne := i.Watch(b.client(1))
		defer stopOne()
		wakeTwo, stopTwo := i.Watch(b.client(2))
		defer stopTwo()
		b.notified(wakeOne)
		b.notified(wakeTwo)
		b.forceRelease()
		b.notified(wakeOne)
		b.notified(wakeTwo)
	}},
	{"force-release", "a forced release of a lock of any kind notifies the holder's client", func(b *testbed) {
		wake, stop := b.inspector().Watch(b.client(1))
		defer stop()
		b.notified(wake)
		b.everyKind(func(k engine.Kind) {
			b.granted(b.askKind(k, b.client(1)+":1"))
			b.forceRelease()
			b.notified(wake)
		})
	}},
	{"force-release", "a forced release notifies every client of a named owner", func(b *testbed) {
		i := b.inspector()
		wakeOne, stopOne := i.Watch(b.client(1))
		defer stopOne()
		wakeTwo, stopTwo := i.Watch(b.client(2))
		defer stopTwo()
		b.notified(wakeOne)
		b.notified(wakeTwo)
		b.everyKind(func(k engine.Kind) {
			one, two := b.askKind(k, "named"), b.askKind(k, "named")
			one.Attempt, one.Limit = b.client(1)+":7", 2
			two.Attempt, two.Limit = b.client(2)+":9", 2
			b.granted(one)
			b.granted(two)
			b.forceRelease()
			b.notified(wakeOne)
			b.notified(wakeTwo)
		})
	}},
	{"force-release", "a client that stops watching is no longer notified", func(b *testbed) {
		wake, stop := b.inspector().Watch(b.client(1))
		b.notified(wake)
		stop()
		stop()
		b.sleep(b.Lease / 4) // pending notifications have arrived
		drain(wake)
		b.granted(b.ask(b.client(1) + ":1"))
		b.forceRelease()
		b.sleep(b.Lease / 4)
		if drain(wake) {
			b.errorf("a client that had stopped watching was notified")
		}
	}},
}

// everyKind runs f for each kind of lock that the engine has.
func (b *testbed) everyKind(f func(engine.Kind)) {
	b.inspector()
	for _, k := range b.kinds() {
		f(k)
	}
}

// everyQueue runs f for each kind of request that has a queue and one holder at a time.
func (b *testbed) everyQueue(f func(ask func(holder string) engine.Request)) {
	b.inspector()
	for _, ask := range []func(string) engine.Request{b.fair, b.write, b.singlePermit} {
		f(ask)
	}
}

// queueForFreeLock queues two waiters for a lock and then frees it.
func (b *testbed) queueForFreeLock(ask func(holder string) engine.Request) []engine.Request {
	a := b.withLongLease(ask(ann))
	b.granted(a)
	queue := b.queueOf(2, ask)
	b.releases(a, engine.Released)
	return queue
}

// forceRelease releases the lock named k by force.
func (b *testbed) forceRelease() engine.Lock {
	l, err := b.inspector().ForceRelease(b.ctx, b.prefix+"k")
	if err != nil {
		b.fatalf("force-release: %v", err)
	}
	return l
}

// forceReleasedFrom releases the lock by force, and requires that these were its holders.
func (b *testbed) forceReleasedFrom(want ...string) {
	var got []string
	for _, h := range b.forceRelease().Holders {
		got = append(got, h.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.fatalf("ForceRelease returned the holders %q, want %q", got, want)
	}
}

// revoked requires that a renewal of r fails with ErrRevoked.
func (b *testbed) revoked(r engine.Request) {
	if err := b.renew(r); !errors.Is(err, engine.ErrRevoked) || !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("renew for %s: error %v, want %v", nameOf(r.Holder), err, engine.ErrRevoked)
	}
}

// wantErrKind requires an error that matches ErrKind.
func (b *testbed) wantErrKind(err error) {
	if !errors.Is(err, engine.ErrKind) {
		b.errorf("error %v, want %v", err, engine.ErrKind)
	}
}
