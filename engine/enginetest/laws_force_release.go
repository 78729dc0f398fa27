package enginetest

import (
	"errors"
	"slices"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// How an operator takes a lock away: T13's leaked lock that is deleted.
var seizeLaws = []Law{
	{"seize", "a lock that is seized is free", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, ann))
			b.seize()
			c := b.as(rival(k), bob)
			b.granted(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"seize", "a seizure says what it took from whom", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			a := b.as(k, ann)
			g := b.granted(a)
			l := b.seize()
			if l.Key != a.Key || len(l.Holders) != 1 || l.Holders[0].Name != ann || l.Holders[0].Fence != g.Fence {
				b.errorf("from ann, who holds %+v as %s, it took %+v", g, k, l)
			}
		})
	}},
	{"seize", "a seizure takes from all who read", func(b *bench) {
		b.inspector()
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.tookFrom(ann, bob)
		b.revoked(a)
		b.revoked(c)
		b.granted(b.write(eve))
	}},
	{"seize", "a seizure takes from all who have a permit", func(b *bench) {
		b.inspector()
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.tookFrom(ann, bob)
		b.revoked(a)
		b.revoked(c)
		b.granted(b.permit(eve, 1))
	}},
	{"seize", "a seizure takes what a writer reads as well", func(b *bench) {
		b.inspector()
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		b.seize()
		b.revoked(write)
		b.revoked(read)
		b.granted(b.write(bob))
	}},
	{"seize", "a renewal after a seizure says that it was one", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			a := b.as(k, ann)
			b.granted(a)
			b.seize()
			b.revoked(a)
		})
	}},
	{"seize", "every entry of a named owner learns of a seizure", func(b *bench) {
		b.inspector()
		one, two := b.ask(ann), b.ask(ann)
		b.granted(one)
		b.granted(two)
		b.seize()
		b.revoked(one)
		b.revoked(two)
	}},
	{"seize", "a seizure is remembered for longer than a lease", func(b *bench) {
		b.inspector()
		a := b.ask(ann)
		b.granted(a)
		b.seize()
		b.pass(3 * b.Lease)
		b.revoked(a)
	}},
	{"seize", "a seizure is remembered for longer than a long lease", func(b *bench) {
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
	{"seize", "a renewal says that it was a seizure although another has the lock now", func(b *bench) {
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
	{"seize", "who lost a lock otherwise is not told that it was seized", func(b *bench) {
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
	{"seize", "who was robbed does not disturb who came after", func(b *bench) {
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
	{"seize", "who was robbed may come back", func(b *bench) {
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
	{"seize", "fences rise over a seizure", func(b *bench) {
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
	{"seize", "who waits is told of a seizure", func(b *bench) {
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, ann))
			c := b.linesUp(b.as(rival(k), bob))
			wake, stop := b.listen(c)
			defer stop()
			b.told(wake)
			b.seize()
			b.told(wake)
			b.granted(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"seize", "those in line keep their places over a seizure", func(b *bench) {
		b.inspector()
		b.granted(b.fair(ann))
		line := b.lineOf(2, b.fair)
		if l := b.seize(); len(l.Waiters) != 2 {
			b.errorf("%+v waited, want two", l.Waiters)
		}
		b.busy(b.fair(ann))
		b.servedInOrder(line)
	}},
	{"seize", "there is nothing to take from a lock that is free", func(b *bench) {
		b.inspector()
		a := b.ask(ann)
		b.tookFrom()
		b.granted(a)
		b.leaves(a, engine.Released)
		b.tookFrom()
		b.granted(b.ask(bob))
	}},
	{"seize", "a seizure of a lock that nobody holds empties the line", func(b *bench) {
		b.everyLine(func(ask func(string) engine.Request) {
			b.lineOfFree(ask)
			c := ask(eve)
			if l := b.seize(); len(l.Holders) != 0 || len(l.Waiters) != 2 || l.Waiters[0].Name != somebody(0) {
				b.errorf("it took %+v, want two who stood in line and nobody who held it", l)
			}
			b.granted(c)
			b.leaves(c, engine.Released)
		})
	}},
	{"seize", "who stood in a line that was emptied takes a new place", func(b *bench) {
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
	{"seize", "all who stood in a line that was emptied are told", func(b *bench) {
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
	{"seize", "a seizure takes the lock at its key and no other", func(b *bench) {
		b.inspector()
		a, c := b.ask(ann), b.askFor("other", ann)
		b.granted(a)
		b.granted(c)
		b.seize()
		b.renewed(c)
		b.held(c)
	}},
	{"seize", "a seizure whose context is done takes nothing", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.cancelled(second(b.inspector().ForceRelease(b.done(), a.Key)))
		b.renewed(a)
	}},
	{"seize", "each client is told of what was seized from it", func(b *bench) {
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
	{"seize", "a client is told whatever kind of lock was seized from it", func(b *bench) {
		wake, stop := b.inspector().Watch(b.client(1))
		defer stop()
		b.told(wake)
		b.everyKind(func(k engine.Kind) {
			b.granted(b.as(k, b.client(1)+":1"))
			b.seize()
			b.told(wake)
		})
	}},
	{"seize", "every client through which a named owner entered is told of a seizure", func(b *bench) {
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
	{"seize", "a client that stops watching is not told any more", func(b *bench) {
		wake, stop := b.inspector().Watch(b.client(1))
		b.told(wake)
		stop()
		stop()
		b.pass(b.Lease / 4) // what was on its way has arrived
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

// lineOfFree is two who stand in line for a lock that nobody holds.
func (b *bench) lineOfFree(ask func(holder string) engine.Request) []engine.Request {
	a := b.forLong(ask(ann))
	b.granted(a)
	line := b.lineOf(2, ask)
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
