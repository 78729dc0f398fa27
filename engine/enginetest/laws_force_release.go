package enginetest

import (
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Forced release by an operator: T13.
var seizeLaws = []Law{
	{"force-release", "a lock that is released by force is free", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, ann))
			b.seize()
			c := b.as(rival(k), bob)
			b.granted(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"force-release", "a forced release returns the lock and its holders", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			a := b.as(k, ann)
			g := b.granted(a)
			l := b.seize()
			if l.Key != a.Key || len(l.Holders) != 1 || l.Holders[0].Name != ann || l.Holders[0].Fence != g.Fence {
				b.errorf("from ann, who holds %+v as %s, it took %+v", g, k, l)
			}
		})
	}},
	{"force-release", "a forced release ends the holds of all readers", func(b *bench) {
		b.inspector()
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.tookFrom(ann, bob)
		b.revoked(a)
		b.revoked(c)
		b.granted(b.write(eve))
	}},
	{"force-release", "a forced release ends all permits", func(b *bench) {
		b.inspector()
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.tookFrom(ann, bob)
		b.revoked(a)
		b.revoked(c)
		b.granted(b.permit(eve, 1))
	}},
	{"force-release", "a forced release ends the read hold of a writer as well", func(b *bench) {
		b.inspector()
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		b.seize()
		b.revoked(write)
		b.revoked(read)
		b.granted(b.write(bob))
	}},
	{"force-release", "a renewal after a forced release fails as revoked", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			a := b.as(k, ann)
			b.granted(a)
			b.seize()
			b.revoked(a)
		})
	}},
	{"force-release", "every entry of a named owner is revoked by a forced release", func(b *bench) {
		b.inspector()
		one, two := b.ask(ann), b.ask(ann)
		b.granted(one)
		b.granted(two)
		b.seize()
		b.revoked(one)
		b.revoked(two)
	}},
	{"force-release", "a revocation outlasts the lease", func(b *bench) {
		b.inspector()
		a := b.ask(ann)
		b.granted(a)
		b.seize()
		b.pass(3 * b.Lease)
		b.revoked(a)
	}},
	{"force-release", "a revocation outlasts a long lease", func(b *bench) {
		b.inspector()
		clock := b.clock()
		b.everyKind(func(k engine.Kind) {
			a := lasting(b.as(k, ann), time.Minute)
			b.granted(a)
			b.seize()
			clock.Step(2 * time.Minute)
			b.revoked(a)
		})
	}},
	{"force-release", "a renewal fails as revoked although another holder has the lock now", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			a, c := b.as(k, ann), b.as(rival(k), bob)
			b.granted(a)
			b.seize()
			b.granted(c)
			b.revoked(a)
			b.renewed(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"force-release", "a renewal after another loss does not fail as revoked", func(b *bench) {
		b.inspector()
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.granted(c)
		b.seize()
		if err := b.renew(a); errors.Is(err, engine.ErrRevoked) || !errors.Is(err, engine.ErrNotHolder) {
			b.errorf("error %v, want %v", err, engine.ErrNotHolder)
		}
	}},
	{"force-release", "a former holder does not change the new hold", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			a, c := b.as(k, ann), b.as(rival(k), bob)
			b.granted(a)
			b.seize()
			b.leaves(a, engine.AlreadyFree)
			first := b.granted(c)
			b.leaves(a, engine.NotYours)
			if g := b.granted(again(c)); g != first {
				b.errorf("the grant went from %+v to %+v", first, g)
			}
			b.leaves(c, engine.Released)
		})
	}},
	{"force-release", "a former holder may acquire the lock again", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, ann))
			b.seize()
			a := b.as(k, ann)
			if g := b.granted(a); g.Count != 1 {
				b.errorf("the count is %d, want 1", g.Count)
			}
			b.renewed(a)
			b.leaves(a, engine.Released)
		})
	}},
	{"force-release", "fences rise across a forced release", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			for _, demand := range []func(engine.Request) engine.Request{plain, fenced} {
				a, c := demand(b.as(k, ann)), demand(b.as(rival(k), bob))
				first := b.granted(a).Fence
				b.seize()
				if second := b.granted(c).Fence; second <= first {
					b.errorf("the fence of a lock held as %s went from %d to %d", k, first, second)
				}
				b.leaves(c, engine.Released)
			}
		})
	}},
	{"force-release", "a forced release notifies waiters", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, ann))
			c := b.queued(b.as(rival(k), bob))
			wake, stop := b.listen(c)
			defer stop()
			b.told(wake)
			b.seize()
			b.told(wake)
			b.granted(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"force-release", "waiters keep their positions across a forced release", func(b *bench) {
		b.inspector()
		b.granted(b.fair(ann))
		line := b.queueOf(2, b.fair)
		if l := b.seize(); len(l.Waiters) != 2 {
			b.errorf("%+v waited, want two", l.Waiters)
		}
		b.busy(b.fair(ann))
		b.servedInOrder(line)
	}},
	{"force-release", "a forced release of a free lock returns no holders", func(b *bench) {
		b.inspector()
		a := b.ask(ann)
		b.tookFrom()
		b.granted(a)
		b.leaves(a, engine.Released)
		b.tookFrom()
		b.granted(b.ask(bob))
	}},
	{"force-release", "a forced release of a free lock empties its queue", func(b *bench) {
		b.everyLine(func(ask func(string) engine.Request) {
			b.lineOfFree(ask)
			c := ask(eve)
			if l := b.seize(); len(l.Holders) != 0 || len(l.Waiters) != 2 || l.Waiters[0].Name != caller(0) {
				b.errorf("it took %+v, want two waiters and no holder", l)
			}
			b.granted(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"force-release", "a waiter of an emptied queue gets a new position", func(b *bench) {
		b.everyLine(func(ask func(string) engine.Request) {
			line, c := b.lineOfFree(ask), b.forLong(ask(eve))
			b.seize()
			b.granted(c)
			b.ahead(b.busy(line[1]), 0)
			b.ahead(b.busy(line[0]), 1)
			b.leaves(c, engine.Released)
			b.servedInOrder([]engine.Request{line[1], line[0]})
		})
	}},
	{"force-release", "emptying a queue notifies all its waiters", func(b *bench) {
		b.everyLine(func(ask func(string) engine.Request) {
			line := b.lineOfFree(ask)
			var wakes []<-chan struct{}
			for _, r := range line {
				wake, stop := b.listen(r)
				defer stop()
				b.told(wake)
				wakes = append(wakes, wake)
			}
			b.seize()
			for i, wake := range wakes {
				b.told(wake)
				b.granted(line[i])
				b.leaves(line[i], engine.Released)
			}
		})
	}},
	{"force-release", "a forced release does not touch other locks", func(b *bench) {
		b.inspector()
		a, c := b.ask(ann), b.askFor("other", ann)
		b.granted(a)
		b.granted(c)
		b.seize()
		b.renewed(c)
		b.held(c)
	}},
	{"force-release", "a forced release whose context is done changes nothing", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.cancelled(second(b.inspector().ForceRelease(b.done(), a.Key)))
		b.renewed(a)
	}},
	{"force-release", "a forced release notifies the client of the holder", func(b *bench) {
		i := b.inspector()
		a, c := b.read(b.client(1)+":1"), b.read(b.client(2)+":7")
		b.granted(a)
		b.granted(c)
		wakeOne, stopOne := i.Watch(b.client(1))
		defer stopOne()
		wakeTwo, stopTwo := i.Watch(b.client(2))
		defer stopTwo()
		b.told(wakeOne)
		b.told(wakeTwo)
		b.seize()
		b.told(wakeOne)
		b.told(wakeTwo)
	}},
	{"force-release", "a forced release of any kind notifies the client", func(b *bench) {
		wake, stop := b.inspector().Watch(b.client(1))
		defer stop()
		b.told(wake)
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, b.client(1)+":1"))
			b.seize()
			b.told(wake)
		})
	}},
	{"force-release", "a forced release notifies every client of a named owner", func(b *bench) {
		i := b.inspector()
		wakeOne, stopOne := i.Watch(b.client(1))
		defer stopOne()
		wakeTwo, stopTwo := i.Watch(b.client(2))
		defer stopTwo()
		b.told(wakeOne)
		b.told(wakeTwo)
		b.everyKind(func(k engine.Kind) {
			one, two := b.as(k, "named"), b.as(k, "named")
			one.Attempt, one.Limit = b.client(1)+":7", 2
			two.Attempt, two.Limit = b.client(2)+":9", 2
			b.granted(one)
			b.granted(two)
			b.seize()
			b.told(wakeOne)
			b.told(wakeTwo)
		})
	}},
	{"force-release", "a client that stops watching is no longer notified", func(b *bench) {
		wake, stop := b.inspector().Watch(b.client(1))
		b.told(wake)
		stop()
		stop()
		b.pass(b.Lease / 4) // pending notifications have arrived
		drain(wake)
		b.granted(b.ask(b.client(1) + ":1"))
		b.seize()
		b.pass(b.Lease / 4)
		if drain(wake) {
			b.errorf("a seizure was told to one who had stopped watching")
		}
	}},
}

// everyKind runs f for each kind of lock that the engine has.
func (b *bench) everyKind(f func(engine.Kind)) {
	b.inspector()
	for _, k := range b.kinds() {
		f(k)
	}
}

// everyLine runs f for each way to ask for a lock that one has at a time and others
// stand in line for.
func (b *bench) everyLine(f func(ask func(holder string) engine.Request)) {
	b.inspector()
	for _, ask := range []func(string) engine.Request{b.fair, b.write, b.single} {
		f(ask)
	}
}

// lineOfFree queues two waiters for a free lock.
func (b *bench) lineOfFree(ask func(holder string) engine.Request) []engine.Request {
	a := b.forLong(ask(ann))
	b.granted(a)
	line := b.queueOf(2, ask)
	b.leaves(a, engine.Released)
	return line
}

// seize takes away the lock that most laws are content with.
func (b *bench) seize() engine.Lock {
	l, err := b.inspector().ForceRelease(b.ctx, b.prefix+"k")
	if err != nil {
		b.fatalf("seize: %v", err)
	}
	return l
}

// tookFrom demands from whom the lock was taken.
func (b *bench) tookFrom(want ...string) {
	var got []string
	for _, h := range b.seize().Holders {
		got = append(got, h.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.fatalf("it was taken from %q, want %q", got, want)
	}
}

// revoked demands that r is told that the lock was seized.
func (b *bench) revoked(r engine.Request) {
	if err := b.renew(r); !errors.Is(err, engine.ErrRevoked) || !errors.Is(err, engine.ErrNotHolder) {
		b.fatalf("renew for %s: error %v, want %v", who(r.Holder), err, engine.ErrRevoked)
	}
}

// wantKind demands that something is not taken for a lock.
func (b *bench) wantKind(err error) {
	if !errors.Is(err, engine.ErrKind) {
		b.errorf("error %v, want %v", err, engine.ErrKind)
	}
}
