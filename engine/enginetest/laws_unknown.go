package enginetest

import "github.com/interlock-go/interlock/engine"

// Unknown outcomes of claims whose holder died.
var unknownLaws = []Law{
	{"unknown", "a claim whose holder dies leaves an unknown outcome", func(b *testbed) {
		first := b.claimGranted(withFingerprint(b.claim(), "this"))
		b.sleep(2 * b.Lease)
		r := b.claimFinds(b.claim(), engine.Unknown)
		if r.Fence != first.Fence || !r.Began.Equal(first.Began) || r.Fingerprint != "this" || len(r.Result) > 0 {
			b.errorf("the record is %s, want that of %s", describe(r), describe(first))
		}
		b.claimFinds(b.claim(), engine.Unknown)
		b.recordIs(b.claim(), engine.Unknown)
	}},
	{"unknown", "a granted claim reports whether it took over an unknown outcome", func(b *testbed) {
		first := b.claimGranted(takingOver(b.claim()))
		b.sleepPastLease()
		c := takingOver(b.claim())
		second, again := b.claimGranted(c), b.claimGranted(c)
		fresh := b.claimGranted(takingOver(b.claimOf("other")))
		if first.TookOver || !second.TookOver || !again.TookOver || fresh.TookOver {
			b.errorf("TookOver is %v for the first claim, %v and %v for the takeover, and %v for another key; want false, true, true, false", first.TookOver, second.TookOver, again.TookOver, fresh.TookOver)
		}
		if r := b.claimFinds(b.claim(), engine.Running); r.TookOver {
			b.errorf("TookOver is true for a claim that was not granted")
		}
	}},
	{"unknown", "a claim without retention whose holder dies leaves nothing", func(b *testbed) {
		c := withRetain(b.claim(), 0)
		b.claimGranted(c)
		b.sleepPastLease()
		b.recordIs(c, engine.Absent)
		b.claimGranted(b.claim())
	}},
	{"unknown", "an unknown outcome expires", func(b *testbed) {
		c := withRetain(b.claim(), 2*b.Lease)
		b.claimGranted(c)
		b.sleepPastLease()
		b.claimFinds(b.claim(), engine.Unknown)
		b.sleepPastLease()
		b.recordIs(c, engine.Absent)
		b.claimGranted(b.claim())
	}},
	{"unknown", "an unknown outcome reports how long it is retained", func(b *testbed) {
		b.claimGranted(withRetain(b.claim(), 3*b.Lease))
		b.sleepPastLease()
		for _, r := range []engine.Record{b.claimFinds(b.claim(), engine.Unknown), b.recordIs(b.claim(), engine.Unknown)} {
			if r.Left <= 0 || r.Left > 3*b.Lease-b.Lease*13/10 {
				b.errorf("Left is %v, want more than 0 and less than the rest of %v", r.Left, 3*b.Lease)
			}
		}
	}},
	{"unknown", "a claim of an unknown outcome does not extend its retention", func(b *testbed) {
		b.claimGranted(withRetain(b.claim(), 2*b.Lease))
		b.sleepPastLease()
		b.claimFinds(withRetain(b.claim(), 50*b.Lease), engine.Unknown)
		b.sleepPastLease()
		b.recordIs(b.claim(), engine.Absent)
	}},
	{"unknown", "a claim lasts for its lease even if its retention is shorter", func(b *testbed) {
		c := withRetain(b.claim(), b.Lease/10)
		b.claimGranted(c)
		b.sleep(b.Lease / 2)
		b.claimFinds(b.claim(), engine.Running)
		b.claimRenewed(withRetain(c, 0))
		b.sleepPastLease()
		b.recordIs(c, engine.Absent)
	}},
	{"unknown", "of concurrent claims after a dead claim one is granted", func(b *testbed) {
		b.claimGranted(withRetain(b.claim(), 0))
		b.sleepPastLease()
		cs := make([]engine.Claim, 20)
		for i := range cs {
			cs[i] = b.claim()
		}
		b.oneGranted(cs)
	}},
}

// Takeover of unknown outcomes.
var takeoverLaws = []Law{
	{"takeover", "an unknown outcome can be taken over with a higher fence", func(b *testbed) {
		first := b.claimGranted(b.claim())
		b.sleepPastLease()
		r := b.claimGranted(takingOver(b.claim()))
		if r.Fence <= first.Fence || !r.Began.After(first.Began) || r.Left <= 0 || r.Left > b.Lease {
			b.errorf("the takeover %s, began at %v, follows %s, began at %v", describe(r), r.Began, describe(first), first.Began)
		}
		b.claimFinds(b.claim(), engine.Running)
	}},
	{"takeover", "an outcome settled as unknown can be taken over", func(b *testbed) {
		c := b.claim()
		first := b.claimGranted(c)
		b.settles(settlement(c, engine.Unknown), engine.Released)
		if r := b.claimGranted(takingOver(b.claim())); r.Fence <= first.Fence {
			b.errorf("fence %d follows fence %d, want a higher one", r.Fence, first.Fence)
		}
	}},
	{"takeover", "a claim that took over can settle", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := takingOver(b.claim())
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		if r := b.recordIs(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the record is %s", describe(r))
		}
	}},
	{"takeover", "a running claim is not taken over", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		was := b.recordIs(c, engine.Running)
		b.claimFinds(takingOver(b.claim()), engine.Running)
		b.unchanged(was)
		b.claimRenewed(c)
	}},
	{"takeover", "a done or failed outcome is not taken over", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed} {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			was := b.recordIs(c, o)
			b.claimFinds(takingOver(b.claimOf(o.String())), o)
			b.unchanged(was)
		}
	}},
	{"takeover", "a takeover without a record is a plain claim", func(b *testbed) {
		b.claimGranted(takingOver(b.claim()))
	}},
	{"takeover", "of concurrent takeovers one is granted", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		cs := make([]engine.Claim, 50)
		for i := range cs {
			cs[i] = takingOver(b.claim())
		}
		b.oneGranted(cs)
	}},
	{"takeover", "a takeover without a fingerprint keeps the record's fingerprint", func(b *testbed) {
		b.claimGranted(withFingerprint(b.claim(), "this"))
		b.sleepPastLease()
		c := takingOver(b.claim())
		c.Attempt += "-with-a-longer-name"
		if r := b.claimGranted(c); r.Fingerprint != "this" {
			b.errorf("the record has the fingerprint %q, want %q", r.Fingerprint, "this")
		}
		b.claimRefused(withFingerprint(b.claim(), "that"), engine.ErrMismatch)
	}},
	{"takeover", "a takeover sets the fingerprint of a record without one", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		if r := b.claimGranted(withFingerprint(takingOver(b.claim()), "this")); r.Fingerprint != "this" {
			b.errorf("the record has the fingerprint %q, want %q", r.Fingerprint, "this")
		}
		b.claimRefused(withFingerprint(b.claim(), "that"), engine.ErrMismatch)
	}},
	{"takeover", "a takeover without retention leaves nothing", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := withRetain(takingOver(b.claim()), 0)
		b.claimGranted(c)
		b.recordIs(c, engine.Running)
		b.sleepPastLease()
		b.recordIs(c, engine.Absent)
	}},
	{"takeover", "a takeover whose holder dies leaves an unknown outcome", func(b *testbed) {
		b.claimGranted(withRetain(b.claim(), 2*b.Lease)) // its retention ends before that of the second claim
		b.sleepPastLease()
		second := b.claimGranted(takingOver(b.claim()))
		b.sleepPastLease()
		if r := b.claimFinds(b.claim(), engine.Unknown); r.Fence != second.Fence {
			b.errorf("the fence is %d, want %d", r.Fence, second.Fence)
		}
		b.claimGranted(takingOver(b.claim()))
	}},
	{"takeover", "a claim that was taken over can neither renew nor settle", func(b *testbed) {
		first, second := b.claim(), takingOver(b.claim())
		b.claimGranted(first)
		b.sleepPastLease()
		b.claimGranted(second)
		was := b.recordIs(second, engine.Running)
		b.claimNotRenewed(first)
		b.settles(settlement(first, engine.Done), engine.NotYours)
		b.claimFinds(asClaimRetry(first), engine.Running)
		b.unchanged(was)
	}},
	{"takeover", "a repeated takeover is granted with the same fence", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := takingOver(b.claim())
		first := b.claimGranted(c)
		if r := b.claimGranted(asClaimRetry(c)); !same(r, first) {
			b.errorf("the grant went from %s to %s", describe(first), describe(r))
		}
	}},
}
