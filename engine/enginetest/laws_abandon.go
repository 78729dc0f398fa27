package enginetest

import "github.com/interlock-go/interlock/engine"

// Clean-up of an acquisition that may have been granted.
var abandonLaws = []Law{
	{"abandon", "abandoning a hold frees the lock", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		if p := b.abandons(a, engine.Released); p.Count != 0 {
			b.errorf("%d holds are left, want none", p.Count)
		}
		b.free(a)
	}},
	{"abandon", "abandoning an attempt that never arrived finds the lock already free", func(b *testbed) {
		a := b.ask(ann)
		b.abandons(a, engine.AlreadyFree)
		b.free(a)
	}},
	{"abandon", "abandoning does not touch the hold of another holder", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.abandons(b.ask(bob), engine.NotYours)
		b.heldBy(a)
		b.renewed(a)
	}},
	{"abandon", "an attempt abandoned after it was granted is refused when repeated", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.refused(asRetry(a), engine.ErrAbandoned)
		b.free(a)
	}},
	{"abandon", "an attempt abandoned before it arrives is refused", func(b *testbed) {
		a := b.ask(ann)
		b.abandons(a, engine.AlreadyFree)
		b.refused(asRetry(a), engine.ErrAbandoned)
		b.free(a)
	}},
	{"abandon", "without LateGrant an abandoned attempt is refused even if it is not marked as a retry", func(b *testbed) {
		if p := b.Capabilities().LateGrant; p > 0 {
			b.skip("the engine has a LateGrant of " + p.String())
		}
		a := b.ask(ann)
		b.abandons(a, engine.AlreadyFree)
		b.refused(a, engine.ErrAbandoned)
		b.free(a)
	}},
	{"abandon", "an abandoned attempt stays refused for its lease", func(b *testbed) {
		a := b.ask(ann)
		b.abandons(a, engine.AlreadyFree)
		b.sleepMostOfLease()
		b.refused(asRetry(a), engine.ErrAbandoned)
	}},
	{"abandon", "a tombstone of an attempt expires after its lease", func(b *testbed) {
		a := b.ask(ann)
		b.abandons(a, engine.AlreadyFree)
		b.sleep(2 * b.Lease)
		b.granted(asRetry(a))
	}},
	{"abandon", "a second abandon restarts the lease of the tombstone", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.sleepMostOfLease()
		b.abandons(a, engine.AlreadyFree)
		b.sleepMostOfLease()
		b.refused(asRetry(a), engine.ErrAbandoned)
	}},
	{"abandon", "an abandoned attempt does not affect another attempt of its holder", func(b *testbed) {
		b.abandons(b.ask(ann), engine.AlreadyFree)
		b.granted(asRetry(b.ask(ann)))
	}},
	{"abandon", "an abandoned attempt does not affect another holder with the same attempt", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		c.Attempt = a.Attempt
		b.abandons(a, engine.AlreadyFree)
		b.granted(asRetry(c))
	}},
	{"abandon", "an abandoned attempt does not affect the same attempt at another lock", func(b *testbed) {
		a, c := b.askFor("one", ann), b.askFor("two", ann)
		c.Attempt = a.Attempt
		b.abandons(a, engine.AlreadyFree)
		b.granted(asRetry(c))
	}},
	{"abandon", "a late abandon does not end the next hold", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.sleepPastLease()
		b.granted(c)
		b.abandons(a, engine.NotYours)
		b.heldBy(c)
	}},
	{"abandon", "an abandoned hold cannot be renewed", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.notRenewed(a)
		b.free(a)
	}},
	{"abandon", "a release after an abandon finds the lock already free", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.releases(a, engine.AlreadyFree)
	}},
}
