package enginetest

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A call to a ledger whose context is done fails and changes nothing.
var ledgerLaws = []Law{
	{"ledger", "a claim whose context is done changes nothing", func(b *testbed) {
		c := b.claim()
		b.wantCanceled(errOf(b.ledger().Claim(b.doneContext(), c)))
		b.recordIs(c, engine.Absent)
	}},
	{"ledger", "a renewal of claims whose context is done changes nothing", func(b *testbed) {
		c, d := b.claimOf("one"), b.claimOf("two")
		b.claimGranted(c)
		b.claimGranted(d)
		b.sleepMostOfLease()
		errs := b.ledger().Renew(b.doneContext(), []engine.Claim{c, d})
		if len(errs) != 2 {
			b.fatalf("two claims have %d answers", len(errs))
		}
		b.wantCanceled(errs[0])
		b.wantCanceled(errs[1])
		b.sleepMostOfLease()
		b.recordIs(c, engine.Unknown)
	}},
	{"ledger", "a settlement whose context is done changes nothing", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		was := b.recordIs(c, engine.Running)
		b.wantCanceled(errOf(b.ledger().Settle(b.doneContext(), settlement(c, engine.Done))))
		b.wantCanceled(errOf(b.ledger().Settle(b.doneContext(), abandonment(c))))
		b.unchanged(was)
		b.claimGranted(asClaimRetry(c))
	}},
	{"ledger", "a lookup whose context is done fails", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.wantCanceled(errOf(b.ledger().Lookup(b.doneContext(), c.Key)))
		_, _, err := b.ledger().List(b.doneContext(), b.prefix+"*", "")
		b.wantCanceled(err)
	}},
	{"ledger", "cancelling the context of a claim does not end it", func(b *testbed) {
		ctx, cancel := context.WithCancel(b.ctx)
		c := b.claim()
		if _, err := b.ledger().Claim(ctx, c); err != nil {
			b.errorf("claim: %v", err)
		}
		cancel()
		b.sleep(b.Lease / 10)
		b.recordIs(c, engine.Running)
	}},
}

// Valid and invalid claims and settlements.
var ledgerInputLaws = []Law{
	{"ledger", "a claim without a key is refused", func(b *testbed) {
		b.rejectsClaim(func(c *engine.Claim, s *engine.Settlement) { c.Key, s.Key = "", "" })
	}},
	{"ledger", "a claim without an attempt is refused", func(b *testbed) {
		b.rejectsClaim(func(c *engine.Claim, s *engine.Settlement) { c.Attempt, s.Attempt = "", "" })
	}},
	{"ledger", "a claim without a lease is refused", func(b *testbed) {
		for _, lease := range []time.Duration{0, -b.Lease} {
			b.rejectsClaim(func(c *engine.Claim, s *engine.Settlement) { c.Lease, *s = lease, abandonment(*c); s.Lease = lease })
		}
	}},
	{"ledger", "a claim with a negative retention is refused", func(b *testbed) {
		b.rejectsClaim(func(c *engine.Claim, s *engine.Settlement) { c.Retain, s.Retain = -b.Lease, -b.Lease })
	}},
	{"ledger", "a settlement with an invalid outcome is refused", func(b *testbed) {
		for _, o := range []engine.State{engine.Running, engine.Unknown + 1, 255} {
			b.rejectsSettlement(func(s *engine.Settlement) { s.Outcome = o })
		}
	}},
	{"ledger", "an outcome without a retention is refused", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			for _, d := range []time.Duration{0, -b.Lease} {
				b.rejectsSettlement(func(s *engine.Settlement) { s.Outcome, s.Retain = o, d })
				b.rejectsSettlement(func(s *engine.Settlement) { s.Outcome, s.Retain, s.FromStart = o, d, true })
			}
		}
	}},
	{"ledger", "an abandoned claim cannot have an outcome", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			b.rejectsSettlement(func(s *engine.Settlement) { s.Outcome, s.Abandon, s.Lease = o, true, b.Lease })
		}
	}},
	{"ledger", "a lookup without a key is refused", func(b *testbed) {
		b.rejected(errOf(b.ledger().Lookup(b.ctx, "")))
	}},
	{"ledger", "one bad claim in a batch does not affect the others", func(b *testbed) {
		good, bad := b.claim(), b.claim()
		bad.Attempt = ""
		b.claimGranted(good)
		errs := b.ledger().Renew(b.ctx, []engine.Claim{bad, good})
		if len(errs) != 2 || errs[0] == nil || errs[1] != nil {
			b.errorf("the answers are %v, want an error only for the first", errs)
		}
	}},
}

// rejectsClaim requires that every call refuses a claim that spoil made invalid. The
// error must not make a caller retry or clean up.
func (b *testbed) rejectsClaim(spoil func(*engine.Claim, *engine.Settlement)) {
	c := b.claim()
	s, good := settlement(c, engine.Done), c
	spoil(&c, &s)
	b.rejected(errOf(b.ledger().Claim(b.ctx, c)))
	b.rejected(b.renewClaim(c))
	b.rejected(errOf(b.ledger().Settle(b.ctx, s)))
	b.recordIs(good, engine.Absent)
	b.claimGranted(b.claim())
	b.prefix += "next:"
}

// rejectsSettlement requires that a settlement that spoil made invalid is refused, and
// that the claim does not change.
func (b *testbed) rejectsSettlement(spoil func(*engine.Settlement)) {
	c := b.claim()
	b.claimGranted(c)
	was := b.recordIs(c, engine.Running)
	s := settlement(c, engine.Done)
	spoil(&s)
	b.rejected(errOf(b.ledger().Settle(b.ctx, s)))
	b.unchanged(was)
	b.claimRenewed(c)
	b.prefix += "next:"
}
