package enginetest

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// What a place in line is: kept for who comes back, and by nobody else. Dead
// waiters cost one place's time, however many they are. T1, T14.
var placeLaws = []Law{
	{"place", "a refusal without a place does not put anybody in line", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(b.fair(bob))
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"place", "a grant takes no place in line", func(b *bench) {
		a := placed(b.fair(ann), 50*b.Lease)
		b.granted(a)
		b.ahead(b.busy(b.fair(bob)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(bob))
	}},
	{"place", "a refusal that is repeated keeps the place", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		line := b.lineOf(2, b.fair)
		b.ahead(b.busy(again(line[0])), 0)
		b.ahead(b.busy(again(line[1])), 1)
		b.leaves(a, engine.Released)
		b.servedInOrder(line)
	}},
	{"place", "a refusal that is repeated is one place", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.linesUp(b.fair(bob))
		b.busy(c)
		b.busy(again(c))
		b.ahead(b.busy(b.fair(eve)), 1)
		b.leaves(a, engine.Released)
		b.granted(c)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(c, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"place", "a place nobody comes for ends and the next one is granted", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		b.busy(placed(b.fair(bob), b.Lease))
		c := b.linesUp(b.fair(eve))
		b.leaves(a, engine.Released)
		b.busy(c)
		b.passAll()
		b.granted(c)
	}},
	{"place", "a place does not end early", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := placed(b.fair(bob), b.Lease)
		b.busy(c)
		b.leaves(a, engine.Released)
		b.passMost()
		b.first(b.busy(b.fair(eve)), bob)
		b.granted(c)
	}},
	{"place", "who comes back before anybody was granted the lock past its place still has it", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		c := placed(b.fair(bob), b.Lease)
		b.busy(c)
		d := b.linesUp(b.fair(eve))
		b.passAll()
		b.busy(d)
		b.ahead(b.busy(placed(c, 50*b.Lease)), 0)
		b.leaves(a, engine.Released)
		b.busy(d)
		b.granted(c)
	}},
	{"place", "who comes back after another was granted the lock past its place stands at the end of the line", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		c := placed(b.fair(bob), b.Lease)
		b.busy(c)
		line := b.lineOf(2, b.fair)
		b.passAll()
		b.leaves(a, engine.Released)
		b.granted(line[0])
		b.ahead(b.busy(placed(c, 50*b.Lease)), 1)
		b.leaves(line[0], engine.Released)
		b.busy(c)
		b.granted(line[1])
	}},
	{"place", "who comes back in time keeps its place for ever", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		c := placed(b.fair(bob), b.Lease)
		b.busy(c)
		d := b.linesUp(b.fair(eve))
		for range 3 {
			b.passMost()
			b.ahead(b.busy(c), 0)
		}
		b.leaves(a, engine.Released)
		b.busy(d)
		b.granted(c)
	}},
	{"place", "who comes back does not keep the places of others", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		b.busy(placed(b.fair(bob), b.Lease))
		c := placed(b.fair(eve), b.Lease)
		b.ahead(b.busy(c), 1)
		b.passMost()
		b.busy(c)
		b.passMost()
		b.leaves(a, engine.Released)
		b.granted(c)
	}},
	{"place", "a row of places nobody comes for ends together", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		for i := range 10 {
			b.busy(placed(b.fair(somebody(i)), b.Lease))
		}
		c := b.linesUp(b.fair(bob))
		b.leaves(a, engine.Released)
		b.busy(c)
		b.passAll()
		b.granted(c)
	}},
	{"place", "a place that ends in the middle of the line closes the gap", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		first := b.linesUp(b.fair(somebody(1)))
		b.busy(placed(b.fair(somebody(2)), b.Lease))
		third := b.linesUp(b.fair(somebody(3)))
		b.passAll()
		b.leaves(a, engine.Released)
		b.servedInOrder([]engine.Request{first, third})
	}},
	{"place", "a place that is longer than another ends later", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		b.linesUp(b.fair(bob))
		b.busy(placed(b.fair(somebody(1)), b.Lease/2))
		b.passAll()
		b.leaves(a, engine.Released)
		b.first(b.busy(b.fair(eve)), bob)
	}},
	{"place", "a release gives up the place", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.linesUp(b.fair(bob))
		b.leaves(c, engine.NotYours)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"place", "giving up a place leaves the others", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		line := b.lineOf(3, b.fair)
		b.leaves(line[1], engine.NotYours)
		b.ahead(b.busy(line[2]), 1)
		b.leaves(a, engine.Released)
		b.servedInOrder([]engine.Request{line[0], line[2]})
	}},
	{"place", "giving up a place does not touch the holder", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.linesUp(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.held(a)
		b.renewed(a)
	}},
	{"place", "an abandon gives up the place", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.linesUp(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.ahead(b.busy(b.fair(eve)), 0)
		b.leaves(a, engine.Released)
		b.granted(b.fair(eve))
	}},
	{"place", "an abandoned attempt takes no place when it arrives", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := placed(b.fair(bob), 50*b.Lease)
		b.abandons(c, engine.NotYours)
		b.refused(again(c), engine.ErrAbandoned)
		b.ahead(b.busy(b.fair(eve)), 0)
	}},
	{"place", "an abandoned attempt is not granted when its turn comes", func(b *bench) {
		a := b.fair(ann)
		b.granted(a)
		c := b.linesUp(b.fair(bob))
		b.abandons(c, engine.NotYours)
		b.leaves(a, engine.Released)
		b.refused(again(c), engine.ErrAbandoned)
		b.granted(b.fair(eve))
	}},
	{"place", "the next one is told when the first gives up its place and the lock is free", func(b *bench) {
		for _, giveUp := range []func(engine.Request, engine.Outcome) engine.ReleaseResult{b.leaves, b.abandons} {
			a := b.fair(ann)
			b.granted(a)
			line := b.lineOf(2, b.fair)
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
	{"place", "who comes next is told of a release although the place before it has run out", func(b *bench) {
		a := b.forLong(b.fair(ann))
		b.granted(a)
		b.busy(placed(b.fair(bob), b.Lease))
		c := b.linesUp(b.fair(eve))
		wake, stop := b.listen(c)
		defer stop()
		b.told(wake)
		b.passAll()
		drain(wake)
		b.leaves(a, engine.Released)
		b.told(wake)
		b.granted(c)
	}},
	{"place", "a place is kept while another lock of the same holder is released", func(b *bench) {
		a, other := b.fair(ann), b.fair(bob)
		other.Key += "other"
		b.granted(a)
		b.granted(other)
		c := b.linesUp(b.fair(bob))
		b.leaves(other, engine.Released)
		b.ahead(b.busy(b.fair(eve)), 1)
		b.leaves(a, engine.Released)
		b.granted(c)
	}},
	{"place", "every lock has a line of its own", func(b *bench) {
		b.patiently(func() {
			for i := range 40 {
				a, c, d := b.forLong(b.fair(ann)), b.fair(bob), b.fair(eve)
				for _, r := range []*engine.Request{&a, &c, &d} {
					r.Key += fmt.Sprint(i)
				}
				b.granted(a)
				b.linesUp(c)
				b.ahead(b.busy(d), 1)
			}
		})
	}},
	{"place", "of a thousand in line those who live are served in order though half have died", func(b *bench) {
		b.patiently(func() {
			a := b.forLong(b.fair(ann))
			b.granted(a)
			var alive []engine.Request
			for i := range 1000 {
				if r := b.forLong(b.fair(somebody(i))); i%2 == 0 {
					b.busy(placed(r, b.Lease))
				} else {
					alive = append(alive, b.linesUp(r))
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
