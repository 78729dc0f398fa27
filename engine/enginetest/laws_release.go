package enginetest

import "github.com/interlock-go/interlock/engine"

// L3 and T4: a release is one atomic step, by the owner alone, with three
// answers; R2: only the owner unlocks.
var releaseLaws = []Law{
	{"release", "a release by the holder frees the lock", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		if p := b.leaves(a, engine.Released); p.Count != 0 {
			b.errorf("%d holds are left, want none", p.Count)
		}
		b.free(a)
	}},
	{"release", "a release of a free lock finds it already free", func(b *bench) {
		b.leaves(b.ask(ann), engine.AlreadyFree)
	}},
	{"release", "a release by another holder is refused and changes nothing", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.leaves(b.ask(bob), engine.NotYours)
		b.held(a)
		b.renewed(a)
	}},
	{"release", "a second release finds the lock already free", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.leaves(a, engine.AlreadyFree)
		b.free(a)
	}},
	{"release", "a second release does not end the hold of the next", func(b *bench) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.granted(c)
		b.leaves(a, engine.NotYours)
		b.held(c)
	}},
	{"release", "a release after the lease expired finds the lock already free", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.passAll()
		b.leaves(a, engine.AlreadyFree)
	}},
	{"release", "a late release does not end the hold of the next", func(b *bench) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.passAll()
		b.granted(c)
		b.leaves(a, engine.NotYours)
		b.held(c)
	}},
	{"release", "a release by another attempt of the holder is not its to make", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.leaves(b.ask(ann), engine.NotYours)
		b.held(a)
		b.leaves(a, engine.Released)
	}},
	{"release", "a late release does not end a later hold of the same holder", func(b *bench) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.passAll()
		b.granted(second)
		b.leaves(first, engine.NotYours)
		b.held(second)
	}},
	{"release", "a release does not depend on the lease it names", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.leaves(lasting(a, 10*b.Lease), engine.Released)
		b.free(a)
	}},
}
