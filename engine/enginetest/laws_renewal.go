package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// Renewals of claims.
var renewalLaws = []Law{
	{"renewal", "a renewed claim does not expire", func(b *testbed) {
		c := b.claim()
		first := b.claimGranted(c)
		for range 4 {
			b.sleepMostOfLease()
			b.claimRenewed(c)
		}
		if r := b.claimFinds(b.claim(), engine.Running); !same(r, first) {
			b.errorf("the record went from %s to %s", describe(first), describe(r))
		}
	}},
	{"renewal", "a claim that is no longer renewed expires", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.claimRenewed(c)
		b.sleepPastLease()
		b.recordIs(c, engine.Unknown)
	}},
	{"renewal", "a renewal restarts the retention", func(b *testbed) {
		c := withRetain(b.claim(), b.Lease*15/10)
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.claimRenewed(c)
		b.sleepPastLease() // now the retention would have passed if it counted from the grant
		if r := b.recordIs(c, engine.Unknown); r.Left > b.Lease/4 {
			b.errorf("Left is %v, want at most a quarter of a lease", r.Left)
		}
	}},
	{"renewal", "a renewal does not shorten a claim", func(b *testbed) {
		c := b.claim()
		c.Lease *= 3
		b.claimGranted(c)
		c.Lease = b.Lease / 10
		b.claimRenewed(c)
		b.sleepPastLease()
		b.recordIs(c, engine.Running)
	}},
	{"renewal", "a renewal does not shorten the retention", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.claimRenewed(withRetain(c, b.Lease/10))
		b.claimRenewed(withRetain(c, 0))
		b.sleepPastLease()
		if r := b.recordIs(c, engine.Unknown); r.Left < 40*b.Lease {
			b.errorf("Left is %v, want nearly %v", r.Left, 50*b.Lease)
		}
	}},
	{"renewal", "a renewal of a claim without retention retains nothing", func(b *testbed) {
		c := withRetain(b.claim(), 0)
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.claimRenewed(c)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Running)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Absent)
	}},
	{"renewal", "a renewal by another attempt is refused and changes nothing", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.claimNotRenewed(b.claim())
		b.sleepMostOfLease()
		b.recordIs(c, engine.Unknown)
	}},
	{"renewal", "a renewal of an unknown claim is refused and leaves nothing", func(b *testbed) {
		c := b.claim()
		b.claimNotRenewed(c)
		b.recordIs(c, engine.Absent)
	}},
	{"renewal", "a renewal does not restore a claim", func(b *testbed) {
		c, d := b.claimOf("one"), withRetain(b.claimOf("two"), 0)
		b.claimGranted(c)
		b.claimGranted(d)
		b.sleepPastLease()
		b.claimNotRenewed(c)
		b.claimNotRenewed(d)
		b.recordIs(c, engine.Unknown)
		b.recordIs(d, engine.Absent)
	}},
	{"renewal", "a renewal does not extend an unknown outcome", func(b *testbed) {
		c := withRetain(b.claim(), 2*b.Lease)
		b.claimGranted(c)
		b.sleepPastLease()
		b.claimNotRenewed(c)
		b.sleepPastLease()
		b.recordIs(c, engine.Absent)
	}},
	{"renewal", "a settled claim cannot be renewed", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			was := b.recordIs(c, o)
			b.claimNotRenewed(withRetain(c, 90*b.Lease))
			b.unchanged(was)
		}
	}},
	{"renewal", "claims renewed together get separate answers", func(b *testbed) {
		mine, over, settledOne, free := b.claimOf("mine"), b.claimOf("over"), b.claimOf("settled"), b.claimOf("free")
		over.Lease /= 10
		b.claimGranted(mine)
		b.claimGranted(over)
		b.claimGranted(settledOne)
		b.settles(settlement(settledOne, engine.Done), engine.Released)
		b.sleepMostOfLease()
		errs := b.ledger().Renew(b.ctx, []engine.Claim{over, mine, free, settledOne, mine})
		for i, want := range []error{engine.ErrNotHolder, nil, engine.ErrNotHolder, engine.ErrNotHolder, nil} {
			if len(errs) != 5 || !errors.Is(errs[i], want) {
				b.fatalf("the answers are %v, want nil only for the second and the last", errs)
			}
		}
		b.sleepMostOfLease()
		b.recordIs(mine, engine.Running)
	}},
	{"renewal", "renewing no claims returns no answers", func(b *testbed) {
		if errs := b.ledger().Renew(b.ctx, nil); len(errs) != 0 {
			b.errorf("the answers are %v, want none", errs)
		}
	}},
}
