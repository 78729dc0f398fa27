package enginetest

import "github.com/interlock-go/interlock/engine"

// Attempt ids: a holder whose reply was lost is not refused because of its own lock
// (requirement L1).
var attemptLaws = []Law{
	{"attempt", "a repeated attempt is granted again", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.granted(asRetry(a))
		b.granted(a) // a client library that retries by itself does not mark a retry
	}},
	{"attempt", "a repeated attempt keeps its fence", func(b *testbed) {
		a := b.ask(ann)
		first, second := b.granted(a), b.granted(asRetry(a))
		if second.Fence != first.Fence {
			b.errorf("the fence went from %d to %d", first.Fence, second.Fence)
		}
	}},
	{"attempt", "a repeated attempt is counted once", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		if g := b.granted(asRetry(a)); g.Count != 1 {
			b.errorf("the count is %d, want 1", g.Count)
		}
		b.releases(a, engine.Released)
		b.free(a)
	}},
	{"attempt", "a repeated attempt restarts its lease", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.granted(asRetry(a))
		b.sleepMostOfLease()
		b.heldBy(a)
	}},
	{"attempt", "a repeated attempt does not shorten its lease", func(b *testbed) {
		a := b.ask(ann)
		b.granted(withLease(a, 3*b.Lease))
		b.granted(asRetry(a))
		b.sleepPastLease()
		b.heldBy(a)
	}},
	{"attempt", "an attempt marked as a retry may be the first to arrive", func(b *testbed) {
		a := asRetry(b.ask(ann))
		if g := b.granted(a); g.Count != 1 {
			b.errorf("the count is %d, want 1", g.Count)
		}
		b.heldBy(a)
	}},
	{"attempt", "an attempt repeated after its lease is refused if another holds the lock", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.sleepPastLease()
		b.granted(c)
		b.busy(asRetry(a))
		b.heldBy(c)
	}},
	{"attempt", "an attempt repeated after its lease is a new hold if the lock is free", func(b *testbed) {
		a := b.ask(ann)
		first := b.granted(a)
		b.sleepPastLease()
		second := b.granted(asRetry(a))
		if second.Count != 1 || second.Fence <= first.Fence {
			b.errorf("got %+v after %+v, want a count of 1 and a larger fence", second, first)
		}
	}},
	{"attempt", "two holders may use the same attempt", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		c.Attempt = a.Attempt
		b.granted(a)
		b.busy(c)
		b.notRenewed(c)
		b.releases(c, engine.NotYours)
		b.heldBy(a)
	}},
	{"attempt", "two locks may see the same attempt", func(b *testbed) {
		a, c := b.askFor("one", ann), b.askFor("two", ann)
		c.Attempt = a.Attempt
		b.granted(a)
		b.releases(c, engine.AlreadyFree)
		b.granted(c)
		b.releases(a, engine.Released)
		b.heldBy(c)
	}},
}
