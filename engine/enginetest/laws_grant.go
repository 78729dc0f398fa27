package enginetest

import (
	"github.com/interlock-go/interlock/engine"
)

// Grants and refusals: R2's mutual exclusion.
var grantLaws = []Law{
	{"grant", "a free lock is granted", func(b *bench) {
		b.granted(b.ask(ann))
	}},
	{"grant", "a grant is one hold", func(b *bench) {
		if g := b.granted(b.ask(ann)); g.Count != 1 {
			b.errorf("the count is %d, want 1", g.Count)
		}
	}},
	{"grant", "a held lock is not granted to another", func(b *bench) {
		b.granted(b.ask(ann))
		b.busy(b.ask(bob))
	}},
	{"grant", "a lock is granted to the next as soon as it is released", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.granted(b.ask(bob))
	}},
	{"grant", "locks with different keys are independent", func(b *bench) {
		a, c := b.askFor("k", ann), b.askFor("kk", bob)
		b.granted(a)
		b.granted(c)
		b.held(a)
		b.held(c)
		b.leaves(a, engine.Released)
		b.held(c)
	}},
	{"grant", "a refusal names the holder", func(b *bench) {
		b.granted(b.ask(ann))
		if busy := b.busy(b.ask(bob)); busy.Holder != ann {
			b.errorf("the lock is said to be held by %q, want %q", busy.Holder, ann)
		}
	}},
	// S2 asks for this of guards; locks tell it as well.
	{"grant", "a refusal says how much of the lease is left", func(b *bench) {
		b.granted(b.ask(ann))
		if left := b.busy(b.ask(bob)).Left; left <= 0 || left > b.Lease {
			b.errorf("%v are said to be left of a lease of %v", left, b.Lease)
		}
	}},
	{"grant", "the remaining lease falls", func(b *bench) {
		b.granted(b.ask(ann))
		b.passMost()
		if left := b.busy(b.ask(bob)).Left; left <= 0 || left > b.Lease/2 {
			b.errorf("%v are said to be left of a lease of %v of which most is over", left, b.Lease)
		}
	}},
	{"grant", "a refusal does not touch the holder", func(b *bench) {
		a := b.ask(ann)
		first := b.granted(a)
		b.busy(b.ask(bob))
		b.renewed(a)
		if g := b.granted(again(a)); g != first {
			b.errorf("the grant is %+v, before the refusal it was %+v", g, first)
		}
		b.leaves(a, engine.Released)
	}},
	{"grant", "a refusal leaves nothing behind", func(b *bench) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.busy(c)
		b.leaves(a, engine.Released)
		b.leaves(c, engine.AlreadyFree)
		b.unrenewed(c)
	}},
	{"grant", "asking does not prolong the lease of the holder", func(b *bench) {
		b.granted(b.ask(ann))
		b.passMost()
		b.busy(b.ask(bob))
		b.passMost()
		b.granted(b.ask(bob))
	}},
}
