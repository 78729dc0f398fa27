package enginetest

import "github.com/interlock-go/interlock/engine"

// Releases. L3, T4: a release is one atomic step with three answers. R2: only the owner
// can release.
var releaseLaws = []Law{
	{"release", "a release by the holder frees the lock", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		if p := b.releases(a, engine.Released); p.Count != 0 {
			b.errorf("%d holds are left, want none", p.Count)
		}
		b.free(a)
	}},
	{"release", "a release of a free lock finds it already free", func(b *testbed) {
		b.releases(b.ask(ann), engine.AlreadyFree)
	}},
	{"release", "a release by another holder is refused and changes nothing", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.releases(b.ask(bob), engine.NotYours)
		b.heldBy(a)
		b.renewed(a)
	}},
	{"release", "a second release finds the lock already free", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.releases(a, engine.Released)
		b.releases(a, engine.AlreadyFree)
		b.free(a)
	}},
	{"release", "a second release does not end the hold of the next holder", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.releases(a, engine.Released)
		b.granted(c)
		b.releases(a, engine.NotYours)
		b.heldBy(c)
	}},
	{"release", "a release after the lease expired finds the lock already free", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepPastLease()
		b.releases(a, engine.AlreadyFree)
	}},
	{"release", "a late release does not end the hold of the next holder", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.sleepPastLease()
		b.granted(c)
		b.releases(a, engine.NotYours)
		b.heldBy(c)
	}},
	{"release", "another attempt of the holder cannot release the hold", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.releases(b.ask(ann), engine.NotYours)
		b.heldBy(a)
		b.releases(a, engine.Released)
	}},
	{"release", "a late release does not end a later hold of the same holder", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.sleepPastLease()
		b.granted(second)
		b.releases(first, engine.NotYours)
		b.heldBy(second)
	}},
	{"release", "a release does not depend on the lease it names", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.releases(withLease(a, 10*b.Lease), engine.Released)
		b.free(a)
	}},
}
