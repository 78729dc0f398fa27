package enginetest

import (
	"github.com/interlock-go/interlock/engine"
)

// Grants and refusals: mutual exclusion (requirement R2 in docs/requirements.md).
var grantLaws = []Law{
	{"grant", "a free lock is granted", func(b *testbed) {
		b.granted(b.ask(ann))
	}},
	{"grant", "the first grant of a holder has the count 1", func(b *testbed) {
		if g := b.granted(b.ask(ann)); g.Count != 1 {
			b.errorf("the count is %d, want 1", g.Count)
		}
	}},
	{"grant", "a held lock is not granted to another holder", func(b *testbed) {
		b.granted(b.ask(ann))
		b.busy(b.ask(bob))
	}},
	{"grant", "a released lock is granted to the next request at once", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.releases(a, engine.Released)
		b.granted(b.ask(bob))
	}},
	{"grant", "locks with different keys are independent", func(b *testbed) {
		a, c := b.askFor("k", ann), b.askFor("kk", bob)
		b.granted(a)
		b.granted(c)
		b.heldBy(a)
		b.heldBy(c)
		b.releases(a, engine.Released)
		b.heldBy(c)
	}},
	{"grant", "a refusal names the holder", func(b *testbed) {
		b.granted(b.ask(ann))
		if busy := b.busy(b.ask(bob)); busy.Holder != ann {
			b.errorf("the refusal names the holder %q, want %q", busy.Holder, ann)
		}
	}},
	// Requirement S2 (docs/requirements.md) asks this of guards; locks report it as well.
	{"grant", "a refusal says how much of the lease is left", func(b *testbed) {
		b.granted(b.ask(ann))
		if left := b.busy(b.ask(bob)).Left; left <= 0 || left > b.Lease {
			b.errorf("Left is %v, want more than 0 and at most the lease of %v", left, b.Lease)
		}
	}},
	{"grant", "the remaining lease falls with time", func(b *testbed) {
		b.granted(b.ask(ann))
		b.sleepMostOfLease()
		if left := b.busy(b.ask(bob)).Left; left <= 0 || left > b.Lease/2 {
			b.errorf("Left is %v, want at most half of the lease of %v", left, b.Lease)
		}
	}},
	{"grant", "a refusal does not touch the holder", func(b *testbed) {
		a := b.ask(ann)
		first := b.granted(a)
		b.busy(b.ask(bob))
		b.renewed(a)
		if g := b.granted(asRetry(a)); g != first {
			b.errorf("the grant is %+v, before the refusal it was %+v", g, first)
		}
		b.releases(a, engine.Released)
	}},
	{"grant", "a refusal stores nothing", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.busy(c)
		b.releases(a, engine.Released)
		b.releases(c, engine.AlreadyFree)
		b.notRenewed(c)
	}},
	{"grant", "a refused request does not extend the lease of the holder", func(b *testbed) {
		b.granted(b.ask(ann))
		b.sleepMostOfLease()
		b.busy(b.ask(bob))
		b.sleepMostOfLease()
		b.granted(b.ask(bob))
	}},
}
