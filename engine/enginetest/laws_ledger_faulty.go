package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Lost replies, delays and duplicates of ledger calls.
var ledgerFaultyLaws = []Law{
	{"ledger", "a claim whose reply was lost is granted with one fence when repeated", func(b *testbed) {
		c := b.claim()
		f, l := b.faultyLedger()
		f.Inject(Fault{Op: OpClaim, Do: LoseReply, Times: 1})
		b.unknown(errOf(l.Claim(b.ctx, c)))
		was := b.recordIs(c, engine.Running)
		if r := b.claimGranted(asClaimRetry(c)); !same(r, was) {
			b.errorf("the claim went from %s to %s", describe(was), describe(r))
		}
	}},
	{"ledger", "a claim whose reply was lost can be abandoned", func(b *testbed) {
		c := b.claim()
		f, l := b.faultyLedger()
		f.Inject(Fault{Op: OpClaim, Do: LoseReply, Times: 1})
		b.unknown(errOf(l.Claim(b.ctx, c)))
		b.settles(abandonment(c), engine.Released)
		b.claimGranted(b.claim())
	}},
	{"ledger", "a claim delivered twice is one claim", func(b *testbed) {
		c := b.claim()
		f, l := b.faultyLedger()
		f.Inject(Fault{Op: OpClaim, Do: Duplicate, Times: 1})
		if r, err := l.Claim(b.ctx, c); err != nil || !r.Granted {
			b.fatalf("got %s, error %v; want a grant", describe(r), err)
		}
		b.settles(settlement(c, engine.Absent), engine.Released)
		b.recordIs(c, engine.Absent)
	}},
	{"ledger", "a claim that arrives after it was abandoned is not granted", func(b *testbed) {
		c := b.claim()
		f, l := b.faultyLedger()
		c.Retry = b.Capabilities().LateGrant > 0 // a first try would be granted; see LateGrant
		b.callerGivesUp(f, OpClaim, func(ctx context.Context) error { return errOf(l.Claim(ctx, c)) })
		b.settles(abandonment(c), engine.AlreadyFree)
		b.lateCallArrives(f)
		b.recordIs(c, engine.Absent)
	}},
	{"ledger", "a late claim does not change a newer claim", func(b *testbed) {
		c, d := takingOver(b.claim()), b.claim()
		f, l := b.faultyLedger()
		b.callerGivesUp(f, OpClaim, func(ctx context.Context) error { return errOf(l.Claim(ctx, c)) })
		b.claimGranted(d)
		was := b.recordIs(d, engine.Running)
		b.lateCallArrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a late claim does not change an outcome settled meanwhile", func(b *testbed) {
		c := takingOver(b.claim())
		f, l := b.faultyLedger()
		b.callerGivesUp(f, OpClaim, func(ctx context.Context) error { return errOf(l.Claim(ctx, c)) })
		b.claimGranted(asClaimRetry(c))
		b.settles(settlement(c, engine.Done), engine.Released)
		was := b.recordIs(c, engine.Done)
		b.lateCallArrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a settlement whose reply was lost has the same answer when repeated", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		f, l := b.faultyLedger()
		f.Inject(Fault{Op: OpSettle, Do: LoseReply, Times: 1})
		b.unknown(errOf(l.Settle(b.ctx, settlement(c, engine.Done))))
		was := b.recordIs(c, engine.Done)
		b.settles(settlement(c, engine.Done), engine.Released)
		b.unchanged(was)
	}},
	{"ledger", "a settlement delivered twice settles once", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		f, l := b.faultyLedger()
		f.Inject(Fault{Op: OpSettle, Do: Duplicate, Times: 1})
		if o, err := l.Settle(b.ctx, settlement(c, engine.Done)); err != nil || o != engine.Released {
			b.fatalf("settle: %v, error %v; want %v", o, err, engine.Released)
		}
		if r := b.recordIs(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the record is %s", describe(r))
		}
	}},
	{"ledger", "a late settlement does not change a newer claim", func(b *testbed) {
		c, d := withRetain(b.claim(), 0), b.claim()
		c.Lease, d.Lease = b.Lease/20, 4*b.Lease
		b.claimGranted(c)
		f, l := b.faultyLedger()
		b.callerGivesUp(f, OpSettle, func(ctx context.Context) error { return errOf(l.Settle(ctx, settlement(c, engine.Done))) })
		b.claimGranted(d)
		was := b.recordIs(d, engine.Running)
		b.lateCallArrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a settlement that arrives after the lease leaves the outcome unknown", func(b *testbed) {
		c := b.claim()
		c.Lease /= 5
		b.claimGranted(c)
		f, l := b.faultyLedger()
		b.callerGivesUp(f, OpSettle, func(ctx context.Context) error { return errOf(l.Settle(ctx, settlement(c, engine.Done))) })
		b.lateCallArrives(f)
		b.recordIs(c, engine.Unknown)
	}},
	{"ledger", "a late settlement is stored as it was sent", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		f, l := b.faultyLedger()
		s := settlement(c, engine.Done)
		b.callerGivesUp(f, OpSettle, func(ctx context.Context) error { return errOf(l.Settle(ctx, s)) })
		s.Result[0] = 'X'
		b.lateCallArrives(f)
		if r := b.recordIs(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the result became %q", r.Result)
		}
	}},
	{"ledger", "a late abandon does not undo a newer claim", func(b *testbed) {
		c, d := withRetain(b.claim(), 0), b.claim()
		c.Lease = b.Lease / 20
		b.claimGranted(c)
		f, l := b.faultyLedger()
		b.callerGivesUp(f, OpSettle, func(ctx context.Context) error { return errOf(l.Settle(ctx, abandonment(c))) })
		b.claimGranted(d)
		was := b.recordIs(d, engine.Running)
		b.lateCallArrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a renewal of a claim whose reply was lost has taken effect", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		f, l := b.faultyLedger()
		f.Inject(Fault{Op: OpClaimRenew, Do: LoseReply, Times: 1})
		b.unknown(l.Renew(b.ctx, []engine.Claim{c})[0])
		b.sleepMostOfLease()
		b.recordIs(c, engine.Running)
	}},
	{"ledger", "a late renewal does not restore a claim", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		f, l := b.faultyLedger()
		b.callerGivesUp(f, OpClaimRenew, func(ctx context.Context) error { return l.Renew(ctx, []engine.Claim{c})[0] })
		b.settles(settlement(c, engine.Absent), engine.Released)
		b.lateCallArrives(f)
		b.recordIs(c, engine.Absent)
	}},
	{"ledger", "a late renewal does not prolong a newer claim", func(b *testbed) {
		c, d := withRetain(b.claim(), 0), b.claim()
		c.Lease = b.Lease / 20
		b.claimGranted(c)
		f, l := b.faultyLedger()
		c.Lease = 50 * b.Lease
		b.callerGivesUp(f, OpClaimRenew, func(ctx context.Context) error { return l.Renew(ctx, []engine.Claim{c})[0] })
		b.claimGranted(d)
		was := b.recordIs(d, engine.Running)
		b.lateCallArrives(f)
		b.unchanged(was)
		b.sleepPastLease()
		b.recordIs(d, engine.Unknown)
	}},
}

// faultyLedger returns a Faulty around the engine, and its ledger.
func (b *testbed) faultyLedger() (*Faulty, engine.Ledger) {
	f := NewFaulty(b.Engine)
	return f, f.Capabilities().Ledger
}
