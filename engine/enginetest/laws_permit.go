package enginetest

import (
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// How many may hold a semaphore's permits, and who is next: T1.
var permitLaws = []Law{
	{"permit", "as many permits are granted as there are", func(b *bench) {
		for i := range 3 {
			if g := b.granted(b.permit(somebody(i), 3)); g.Fence == 0 {
				b.errorf("the fence is 0")
			}
		}
		b.busy(b.permit(ann, 3))
	}},
	{"permit", "a permit that is released is granted again", func(b *bench) {
		a := b.permit(ann, 2)
		b.granted(a)
		b.granted(b.permit(bob, 2))
		b.busy(b.permit(eve, 2))
		b.leaves(a, engine.Released)
		b.granted(b.permit(eve, 2))
		b.busy(b.permit(ann, 2))
	}},
	{"permit", "a permit that is released twice is released once", func(b *bench) {
		a := b.permit(ann, 2)
		b.granted(a)
		b.granted(b.permit(bob, 2))
		b.leaves(a, engine.Released)
		b.leaves(a, engine.NotYours)
		b.granted(b.permit(eve, 2))
		b.busy(b.permit(ann, 2))
	}},
	{"permit", "a permit nobody holds is already free", func(b *bench) {
		a := b.permit(ann, 1)
		b.leaves(a, engine.AlreadyFree)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.leaves(a, engine.AlreadyFree)
	}},
	{"permit", "nobody releases the permit of another", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		b.leaves(b.permit(bob, 1), engine.NotYours)
		b.leaves(b.permit(ann, 1), engine.NotYours)
		b.renewed(a)
		b.busy(b.permit(eve, 1))
	}},
	{"permit", "a permit asked for again with the same attempt is one permit with one fence", func(b *bench) {
		a := b.permit(ann, 2)
		first := b.granted(a)
		if second := b.granted(again(a)); second != first {
			b.errorf("the grant went from %+v to %+v", first, second)
		}
		b.granted(b.permit(bob, 2))
		b.granted(again(a)) // though none is left
		b.busy(b.permit(eve, 2))
	}},
	{"permit", "each attempt of a holder is a permit of its own", func(b *bench) {
		one, two := b.permit(ann, 2), b.permit(ann, 2)
		b.granted(one)
		b.granted(two)
		b.busy(b.permit(ann, 2))
		b.leaves(one, engine.Released)
		b.unrenewed(one)
		b.renewed(two)
		b.granted(b.permit(bob, 2))
	}},
	{"permit", "fences of permits rise", func(b *bench) {
		for _, demand := range []func(engine.Request) engine.Request{plain, fenced} {
			a, c := demand(b.permit(ann, 1)), demand(b.permit(bob, 1))
			first := b.granted(a).Fence
			b.leaves(a, engine.Released)
			if second := b.granted(c).Fence; second <= first {
				b.errorf("the fence went from %d to %d", first, second)
			}
			b.leaves(c, engine.Released)
		}
	}},
	{"permit", "a permit that is not renewed ends by itself", func(b *bench) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.passMost()
		b.renewed(c)
		b.pass(b.Lease * 7 / 10)
		b.granted(b.permit(eve, 2))
		b.busy(b.permit(ann, 2))
	}},
	{"permit", "a renewal does not bring back a permit", func(b *bench) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(lasting(a, b.Lease/2))
		b.granted(c)
		b.passMost()
		b.unrenewed(a)
		b.renewed(c)
		b.leaves(a, engine.NotYours)
		b.granted(b.permit(eve, 2))
	}},
	{"permit", "a permit with a short lease does not cut the lease of another", func(b *bench) {
		a, c := lasting(b.permit(ann, 2), 3*b.Lease), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.renewed(c)
		b.passAll()
		b.renewed(a)
		b.first(b.busy(b.permit(eve, 1)), ann)
	}},
	{"permit", "a refusal names one who has a permit and what is left of its lease", func(b *bench) {
		b.granted(b.permit(ann, 2))
		b.granted(b.permit(bob, 2))
		busy := b.busy(b.permit(eve, 2))
		b.first(busy, ann, bob)
		if busy.Left <= 0 || busy.Left > b.Lease {
			b.errorf("%v are said to be left of a lease of %v", busy.Left, b.Lease)
		}
	}},
	{"permit", "an abandoned permit is free and stays refused", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.refused(again(a), engine.ErrAbandoned)
		b.granted(b.permit(bob, 1))
	}},
	{"permit", "a smaller limit grants nothing until fewer are held", func(b *bench) {
		rs := []engine.Request{b.permit(ann, 3), b.permit(bob, 3), b.permit(eve, 3)}
		for _, r := range rs {
			b.granted(r)
		}
		b.busy(b.permit(somebody(1), 2))
		b.leaves(rs[0], engine.Released)
		b.busy(b.permit(somebody(1), 2))
		b.leaves(rs[1], engine.Released)
		b.granted(b.permit(somebody(1), 2))
	}},
	{"permit", "a smaller limit takes nothing away", func(b *bench) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		b.busy(b.permit(eve, 1))
		b.renewed(a)
		b.renewed(c)
		b.granted(again(a))
	}},
	{"permit", "a larger limit grants more", func(b *bench) {
		b.granted(b.permit(ann, 1))
		b.busy(b.permit(bob, 1))
		b.granted(b.permit(bob, 2))
		b.busy(b.permit(eve, 2))
	}},
	{"permit", "a limit that is not above zero is refused", func(b *bench) {
		for _, limit := range []int{0, -1} {
			b.rejected(second(b.Acquire(b.ctx, b.permit(ann, limit))))
			b.rejected(second(b.Acquire(b.ctx, placed(b.permit(ann, limit), b.Lease))))
		}
		b.granted(b.permit(bob, 1))
	}},
	{"permit", "a permit that is released goes to the first in line", func(b *bench) {
		a := b.forLong(b.permit(ann, 1))
		b.granted(a)
		line := b.lineOf(3, func(holder string) engine.Request { return b.permit(holder, 1) })
		b.ahead(b.busy(line[2]), 2)
		b.leaves(a, engine.Released)
		b.servedInOrder(line)
	}},
	{"permit", "who does not stand in line does not pass who does", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		c := b.linesUp(b.permit(bob, 1))
		b.leaves(a, engine.Released)
		b.first(b.busy(b.permit(eve, 1)), bob)
		b.busy(b.permit(ann, 1))
		b.granted(c)
	}},
	{"permit", "a larger limit lets nobody pass who stands in line", func(b *bench) {
		a, c := b.permit(ann, 2), b.permit(bob, 2)
		b.granted(a)
		b.granted(c)
		first := b.linesUp(b.permit(somebody(1), 1))
		b.busy(b.permit(eve, 9))
		later := b.linesUp(b.permit(eve, 9))
		b.leaves(a, engine.Released)
		b.busy(b.permit(ann, 9))
		b.busy(later)
		b.busy(first)
		b.leaves(c, engine.Released)
		b.busy(later)
		b.granted(first)
		b.granted(later)
	}},
	{"permit", "a larger limit gets its permit when the smaller one before it gives up", func(b *bench) {
		b.granted(b.permit(ann, 1))
		first, later := b.linesUp(b.permit(bob, 1)), b.linesUp(b.permit(eve, 2))
		wake, stop := b.listen(later)
		defer stop()
		b.told(wake)
		b.busy(later)
		b.leaves(first, engine.NotYours)
		b.told(wake)
		b.granted(later)
	}},
	{"permit", "who comes next is told of each grant although the one before had a smaller limit", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		first, later := b.linesUp(b.permit(bob, 1)), b.linesUp(b.permit(eve, 2))
		wake, stop := b.listen(later)
		defer stop()
		b.told(wake)
		b.leaves(a, engine.Released)
		b.busy(later)
		b.granted(first)
		b.told(wake)
		b.granted(later)
	}},
	{"permit", "several in line get several permits and each is told", func(b *bench) {
		one, two := b.permit(ann, 2), b.permit(ann, 2)
		b.granted(one)
		b.granted(two)
		line := b.lineOf(3, func(holder string) engine.Request { return b.permit(holder, 2) })
		var wakes []<-chan struct{}
		for _, r := range line {
			wake, stop := b.listen(r)
			defer stop()
			b.told(wake)
			wakes = append(wakes, wake)
		}
		b.leaves(one, engine.Released)
		b.leaves(two, engine.Released)
		b.told(wakes[0])
		b.granted(line[0])
		b.told(wakes[1])
		b.granted(line[1])
		b.busy(line[2])
	}},
	{"permit", "the next one is told when the first gives up its place and a permit is free", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		line := b.lineOf(2, func(holder string) engine.Request { return b.permit(holder, 1) })
		b.leaves(a, engine.Released)
		wake, stop := b.listen(line[1])
		defer stop()
		b.told(wake)
		b.busy(line[1])
		b.leaves(line[0], engine.AlreadyFree)
		b.told(wake)
		b.granted(line[1])
	}},
	{"permit", "each attempt of a holder has a place of its own", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		one, two := b.linesUp(b.permit(bob, 1)), b.linesUp(b.permit(bob, 1))
		b.ahead(b.busy(two), 1)
		b.leaves(one, engine.NotYours)
		b.ahead(b.busy(two), 0)
		b.leaves(a, engine.Released)
		b.granted(two)
	}},
	{"permit", "a place for a permit ends when nobody comes for it", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		b.busy(placed(b.permit(bob, 1), b.Lease))
		c := b.linesUp(b.permit(eve, 1))
		b.leaves(a, engine.Released)
		b.busy(c)
		b.passAll()
		b.granted(c)
	}},
	{"permit", "an abandoned attempt takes no place in line for a permit", func(b *bench) {
		a := b.permit(ann, 1)
		b.granted(a)
		c := b.linesUp(b.permit(bob, 1))
		b.abandons(c, engine.NotYours)
		b.refused(again(c), engine.ErrAbandoned)
		b.ahead(b.busy(b.permit(eve, 1)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.permit(eve, 1))
	}},
	{"permit", "a holder of a permit stands in line for another", func(b *bench) {
		b.granted(b.permit(ann, 2))
		a := b.permit(bob, 2)
		b.granted(a)
		c := b.linesUp(b.permit(eve, 2))
		b.ahead(b.busy(placed(b.permit(ann, 2), 50*b.Lease)), 1)
		b.leaves(a, engine.Released)
		b.busy(b.permit(ann, 2))
		b.granted(c)
	}},
	{"permit", "no more than there are permits are ever inside", func(b *bench) {
		const limit = 3
		var inside atomic.Int32
		b.competeAs([]engine.Kind{engine.Permit}, limit, func(engine.Request) {
			if n := inside.Add(1); n > limit {
				b.errorf("%d are inside, want %d at most", n, limit)
			}
			time.Sleep(time.Millisecond) // give others the time to come in
			inside.Add(-1)
		})
	}},
}
