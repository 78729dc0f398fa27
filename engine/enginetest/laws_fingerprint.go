package enginetest

import (
	"errors"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
)

// Fingerprints: one key is for one payload.
var fingerprintLaws = []Law{
	{"fingerprint", "a claim with another fingerprint than the running one is a mismatch", func(b *testbed) {
		b.mismatchAfter(func(engine.Claim) {})
	}},
	{"fingerprint", "a claim with another fingerprint than the done record is a mismatch", func(b *testbed) {
		b.mismatchAfter(func(c engine.Claim) { b.settles(settlement(c, engine.Done), engine.Released) })
	}},
	{"fingerprint", "a claim with another fingerprint than the failed record is a mismatch", func(b *testbed) {
		b.mismatchAfter(func(c engine.Claim) { b.settles(settlement(c, engine.Failed), engine.Released) })
	}},
	{"fingerprint", "a claim with another fingerprint than a settled unknown record is a mismatch", func(b *testbed) {
		b.mismatchAfter(func(c engine.Claim) { b.settles(settlement(c, engine.Unknown), engine.Released) })
	}},
	{"fingerprint", "a claim with another fingerprint than an expired claim is a mismatch", func(b *testbed) {
		b.mismatchAfter(func(engine.Claim) { b.sleepPastLease() })
	}},
	{"fingerprint", "a repeated claim with another fingerprint is a mismatch", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		b.claimGranted(c)
		b.claimRefused(withFingerprint(asClaimRetry(c), "that"), engine.ErrMismatch)
	}},
	{"fingerprint", "a mismatch changes nothing", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		b.claimGranted(c)
		was := b.recordIs(c, engine.Running)
		b.sleepMostOfLease()
		b.claimRefused(withFingerprint(asClaimRetry(c), "that"), engine.ErrMismatch)
		b.claimRefused(withFingerprint(takingOver(b.claim()), "that"), engine.ErrMismatch)
		b.unchanged(was)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Unknown)
	}},
	{"fingerprint", "a claim without a fingerprint finds any record", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		b.claimGranted(c)
		b.claimFinds(b.claim(), engine.Running)
		b.claimGranted(withFingerprint(asClaimRetry(c), ""))
		b.settles(settlement(c, engine.Done), engine.Released)
		if r := b.claimFinds(b.claim(), engine.Done); r.Fingerprint != "this" {
			b.errorf("the record has the fingerprint %q, want %q", r.Fingerprint, "this")
		}
	}},
	{"fingerprint", "a claim without a fingerprint keeps the record's fingerprint", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		b.claimGranted(c)
		b.claimFinds(b.claim(), engine.Running)
		b.claimGranted(withFingerprint(asClaimRetry(c), ""))
		b.claimRenewed(withFingerprint(c, ""))
		b.claimRefused(withFingerprint(b.claim(), "that"), engine.ErrMismatch)
		b.claimFinds(withFingerprint(b.claim(), "this"), engine.Running)
	}},
	{"fingerprint", "a record without a fingerprint matches any claim", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.claimFinds(withFingerprint(b.claim(), "this"), engine.Running)
		b.claimFinds(withFingerprint(b.claim(), "that"), engine.Running)
		b.settles(settlement(c, engine.Done), engine.Released)
		b.claimFinds(withFingerprint(b.claim(), "this"), engine.Done)
		b.claimFinds(withFingerprint(b.claim(), "that"), engine.Done)
	}},
	{"fingerprint", "of two concurrent claims with different fingerprints one is granted and the other is a mismatch", func(b *testbed) {
		for range 10 {
			cs := []engine.Claim{withFingerprint(b.claim(), "this"), withFingerprint(b.claim(), "that")}
			var granted, mismatched atomic.Int32
			b.together(len(cs), func(i int) {
				r, err := b.ledger().Claim(b.ctx, cs[i])
				switch {
				case err == nil && r.Granted:
					granted.Add(1)
				case errors.Is(err, engine.ErrMismatch):
					mismatched.Add(1)
				}
			})
			if granted.Load() != 1 || mismatched.Load() != 1 {
				b.fatalf("%d claims were granted and %d mismatched, want one each", granted.Load(), mismatched.Load())
			}
			for _, c := range cs {
				if _, err := b.ledger().Settle(b.ctx, settlement(c, engine.Absent)); err != nil {
					b.fatalf("settle: %v", err)
				}
			}
		}
	}},
	{"fingerprint", "a claim that is settled as absent leaves no fingerprint", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		b.claimGranted(c)
		b.settles(settlement(c, engine.Absent), engine.Released)
		if r := b.recordIs(c, engine.Absent); r.Fingerprint != "" {
			b.errorf("an absent record has the fingerprint %q, want none", r.Fingerprint)
		}
		for _, r := range []engine.Record{b.claimGranted(b.claim()), b.recordIs(c, engine.Running)} {
			if r.Fingerprint != "" {
				b.errorf("a new claim has the fingerprint %q, want none", r.Fingerprint)
			}
		}
	}},
	{"fingerprint", "a fingerprint expires with a claim that retains nothing", func(b *testbed) {
		b.claimGranted(withRetain(withFingerprint(b.claim(), "this"), 0))
		b.sleepPastLease()
		b.claimGranted(withFingerprint(b.claim(), "that"))
	}},
	{"fingerprint", "fingerprints are compared completely", func(b *testbed) {
		for i, f := range []string{"this", "x", "a\x00b", "订单"} {
			c := withFingerprint(b.claimOf(oddKeys[i]), f)
			b.claimGranted(c)
			for _, other := range []string{f + " ", f + "\x00", f[:len(f)-1] + "\xff", f + f} {
				b.claimRefused(withFingerprint(b.claimOf(oddKeys[i]), other), engine.ErrMismatch)
			}
			b.claimFinds(withFingerprint(b.claimOf(oddKeys[i]), f), engine.Running)
		}
	}},
}

// mismatchAfter makes a claim and calls change with it. Then it requires that a claim
// with another fingerprint is a mismatch, and one with the same fingerprint is not.
func (b *testbed) mismatchAfter(change func(engine.Claim)) {
	c := withFingerprint(b.claim(), "this")
	b.claimGranted(c)
	change(c)
	was := b.lookup(c.Key)
	b.claimRefused(withFingerprint(b.claim(), "that"), engine.ErrMismatch)
	b.claimRefused(withFingerprint(takingOver(b.claim()), "that"), engine.ErrMismatch)
	b.unchanged(was)
	b.claimFinds(withFingerprint(b.claim(), "this"), was.State)
}
