package enginetest

import "github.com/interlock-go/interlock/engine"

// Clean-up of a claim that may have been granted and whose work was not begun.
var abandonClaimLaws = []Law{
	{"abandon-claim", "an abandoned claim leaves no record", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.recordIs(c, engine.Absent)
		b.claimGranted(withFingerprint(b.claim(), "that"))
	}},
	{"abandon-claim", "a claim abandoned after its lease expired is undone", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepPastLease()
		b.recordIs(c, engine.Unknown)
		b.settles(abandonment(c), engine.Released)
		b.recordIs(c, engine.Absent)
		b.claimGranted(b.claim())
	}},
	{"abandon-claim", "a claim that is abandoned before it arrives is refused", func(b *testbed) {
		c := b.claim()
		b.settles(abandonment(c), engine.AlreadyFree)
		b.claimRefused(asClaimRetry(c), engine.ErrAbandoned)
		b.recordIs(c, engine.Absent)
		b.claimGranted(b.claim())
	}},
	{"abandon-claim", "without LateGrant an abandoned claim is refused even if it is not marked as a retry", func(b *testbed) {
		c := b.claim()
		if p := b.Capabilities().LateGrant; p > 0 {
			b.skip("the engine has a LateGrant of " + p.String())
		}
		b.settles(abandonment(c), engine.AlreadyFree)
		b.claimRefused(c, engine.ErrAbandoned)
		b.recordIs(c, engine.Absent)
	}},
	{"abandon-claim", "a claim that is abandoned after it was granted is refused when repeated", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.claimRefused(asClaimRetry(c), engine.ErrAbandoned)
		b.claimRefused(asClaimRetry(takingOver(c)), engine.ErrAbandoned)
		b.recordIs(c, engine.Absent)
	}},
	{"abandon-claim", "an abandoned claim stays refused for its lease", func(b *testbed) {
		c := b.claim()
		b.settles(abandonment(c), engine.AlreadyFree)
		b.sleepMostOfLease()
		b.claimRefused(asClaimRetry(c), engine.ErrAbandoned)
	}},
	{"abandon-claim", "a tombstone of a claim expires after its lease", func(b *testbed) {
		c := b.claim()
		b.settles(abandonment(c), engine.AlreadyFree)
		b.sleep(2 * b.Lease)
		b.claimGranted(asClaimRetry(c))
	}},
	{"abandon-claim", "a second abandon of a claim restarts the lease of the tombstone", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.sleepMostOfLease()
		b.settles(abandonment(c), engine.AlreadyFree)
		b.sleepMostOfLease()
		b.claimRefused(asClaimRetry(c), engine.ErrAbandoned)
	}},
	{"abandon-claim", "abandoning a claim does not touch another claim", func(b *testbed) {
		c, d := b.claim(), b.claim()
		b.claimGranted(c)
		was := b.recordIs(c, engine.Running)
		b.settles(abandonment(d), engine.NotYours)
		b.unchanged(was)
		b.claimRefused(asClaimRetry(d), engine.ErrAbandoned)
		b.claimRenewed(c)
	}},
	{"abandon-claim", "abandoning a claim does not change an unknown outcome of another", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := b.claim()
		was := b.recordIs(c, engine.Unknown)
		b.settles(abandonment(c), engine.NotYours)
		b.unchanged(was)
	}},
	{"abandon-claim", "a late abandon of a claim does not change the new claim", func(b *testbed) {
		c, d := withRetain(b.claim(), 0), b.claim()
		b.claimGranted(c)
		b.sleepPastLease()
		b.claimGranted(d)
		was := b.recordIs(d, engine.Running)
		b.settles(abandonment(c), engine.NotYours)
		b.unchanged(was)
	}},
	{"abandon-claim", "abandoning a claim does not undo a settled outcome", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			was := b.recordIs(c, o)
			b.settles(abandonment(c), engine.Released)
			b.unchanged(was)
			b.settles(abandonment(b.claimOf(o.String())), engine.NotYours)
			b.unchanged(was)
		}
	}},
	{"abandon-claim", "abandoning a claim that took over leaves the outcome unknown", func(b *testbed) {
		b.claimGranted(withFingerprint(b.claim(), "this"))
		b.sleepPastLease()
		c := takingOver(b.claim())
		taken := b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.settles(abandonment(c), engine.Released)
		if r := b.claimFinds(b.claim(), engine.Unknown); r.Fence < taken.Fence || r.Fingerprint != "this" {
			b.errorf("the record is %s, want that of %s", describe(r), describe(taken))
		}
		b.claimRefused(asClaimRetry(c), engine.ErrAbandoned)
		if r := b.claimGranted(takingOver(b.claim())); r.Fence <= taken.Fence {
			b.errorf("fence %d follows fence %d, want a higher one", r.Fence, taken.Fence)
		}
	}},
	{"abandon-claim", "abandoning an expired claim that took over leaves the outcome unknown", func(b *testbed) {
		b.claimGranted(withShortLease(b, b.claim()))
		b.sleep(b.Lease / 4)
		c := withShortLease(b, takingOver(b.claim()))
		b.claimGranted(c)
		b.sleep(b.Lease / 4)
		b.settles(abandonment(c), engine.Released)
		b.claimFinds(b.claim(), engine.Unknown)
	}},
	{"abandon-claim", "an outcome left unknown is retained as long as the claim that took over asked", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := withRetain(takingOver(b.claim()), b.Lease)
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.recordIs(c, engine.Unknown)
		b.sleepPastLease()
		b.recordIs(c, engine.Absent)
	}},
	{"abandon-claim", "abandoning a claim that took over and retains nothing leaves nothing", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := withRetain(takingOver(b.claim()), 0)
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.recordIs(c, engine.Absent)
	}},
	{"abandon-claim", "an abandoned claim can neither be renewed nor settled", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.claimNotRenewed(c)
		b.settles(settlement(c, engine.Done), engine.AlreadyFree)
		b.recordIs(c, engine.Absent)
	}},
	{"abandon-claim", "an abandoned claim does not affect its attempt at another key", func(b *testbed) {
		c, d := b.claimOf("one"), b.claimOf("two")
		d.Attempt = c.Attempt
		b.settles(abandonment(c), engine.AlreadyFree)
		b.claimGranted(asClaimRetry(d))
	}},
	{"abandon-claim", "an abandoned claim does not affect another attempt at its key", func(b *testbed) {
		b.settles(abandonment(b.claim()), engine.AlreadyFree)
		b.claimGranted(asClaimRetry(b.claim()))
	}},
}
