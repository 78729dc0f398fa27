package enginetest

import "github.com/interlock-go/interlock/engine"

// Settlements: once, and by the holder of the claim only.
var settleLaws = []Law{
	{"settle", "a done outcome refuses new claims", func(b *testbed) { b.outcomeRefusesClaims(engine.Done) }},
	{"settle", "a failed outcome refuses new claims", func(b *testbed) { b.outcomeRefusesClaims(engine.Failed) }},
	{"settle", "an unknown outcome refuses new claims", func(b *testbed) { b.outcomeRefusesClaims(engine.Unknown) }},
	{"settle", "work without a retained outcome may be claimed again", func(b *testbed) {
		c := b.claim()
		first := b.claimGranted(c)
		b.settles(settlement(c, engine.Absent), engine.Released)
		if r := b.recordIs(c, engine.Absent); !same(r, engine.Record{Key: c.Key, Began: r.Began}) {
			b.errorf("the lookup of an absent record returns %s, want only its key and start time", describe(r))
		}
		if r := b.claimGranted(b.claim()); r.Fence <= first.Fence {
			b.errorf("fence %d follows fence %d, want a higher one", r.Fence, first.Fence)
		}
	}},
	{"settle", "another attempt cannot settle and changes nothing", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		was := b.recordIs(c, engine.Running)
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			b.settles(settlement(b.claim(), o), engine.NotYours)
			b.unchanged(was)
		}
		b.settles(settlement(c, engine.Done), engine.Released)
	}},
	{"settle", "another attempt cannot settle a settled claim", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			was := b.recordIs(c, o)
			b.settles(settlement(b.claimOf(o.String()), engine.Absent), engine.NotYours)
			b.settles(settlement(b.claimOf(o.String()), engine.Failed), engine.NotYours)
			b.unchanged(was)
		}
	}},
	{"settle", "another attempt cannot settle an expired claim", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := b.claim()
		was := b.recordIs(c, engine.Unknown)
		b.settles(settlement(c, engine.Absent), engine.NotYours)
		b.unchanged(was)
	}},
	{"settle", "a settlement without a claim finds nothing", func(b *testbed) {
		c := b.claim()
		b.settles(settlement(c, engine.Done), engine.AlreadyFree)
		b.recordIs(c, engine.Absent)
		b.claimGranted(b.claim())
	}},
	{"settle", "an expired claim cannot be settled and stays unknown", func(b *testbed) {
		cs := make(map[engine.State]engine.Claim)
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			cs[o] = withShortLease(b, b.claimOf(o.String()))
			b.claimGranted(cs[o])
		}
		b.sleep(b.Lease / 2)
		for o, c := range cs {
			was := b.recordIs(c, engine.Unknown)
			b.settles(settlement(c, o), engine.AlreadyFree)
			b.settles(settlement(c, o), engine.AlreadyFree)
			b.unchanged(was)
		}
	}},
	{"settle", "an expired claim without retention cannot be settled and stays absent", func(b *testbed) {
		c := withRetain(b.claim(), 0)
		b.claimGranted(c)
		b.sleepPastLease()
		b.settles(settlement(c, engine.Done), engine.AlreadyFree)
		b.recordIs(c, engine.Absent)
	}},
	{"settle", "a late settle does not change the new claim", func(b *testbed) {
		c, d := withRetain(b.claim(), 0), b.claim()
		b.claimGranted(c)
		b.sleepPastLease()
		b.claimGranted(d)
		was := b.recordIs(d, engine.Running)
		b.settles(settlement(c, engine.Done), engine.NotYours)
		b.unchanged(was)
		b.settles(settlement(d, engine.Failed), engine.Released)
		b.settles(settlement(c, engine.Done), engine.NotYours)
		b.recordIs(d, engine.Failed)
	}},
	{"settle", "a repeated settlement has the same answer and changes nothing", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			was := b.recordIs(c, o)
			longer := settlement(c, o)
			longer.Retain *= 2
			b.settles(longer, engine.Released)
			b.unchanged(was)
		}
	}},
	{"settle", "the first settlement counts", func(b *testbed) {
		all := []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent}
		for _, o := range all[:3] {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			was := b.recordIs(c, o)
			for _, other := range all {
				s := settlement(c, other)
				s.Result = []byte("another result")
				b.settles(s, engine.Released)
				b.unchanged(was)
			}
		}
	}},
	{"settle", "a repeated settlement finds nothing if nothing was retained", func(b *testbed) {
		c, d := b.claim(), b.claim()
		b.claimGranted(c)
		b.settles(settlement(c, engine.Absent), engine.Released)
		b.settles(settlement(c, engine.Absent), engine.AlreadyFree)
		b.settles(settlement(c, engine.Done), engine.AlreadyFree)
		b.recordIs(c, engine.Absent)
		b.claimGranted(d)
		b.settles(settlement(c, engine.Absent), engine.NotYours)
		b.recordIs(d, engine.Running)
	}},
	{"settle", "of concurrent settlements of one claim the first counts", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.together(20, func(i int) {
			s := settlement(c, []engine.State{engine.Done, engine.Failed}[i%2])
			s.Result = []byte(s.Outcome.String())
			if o, err := b.ledger().Settle(b.ctx, s); err != nil || o != engine.Released {
				b.errorf("settle: %v, error %v; want %v", o, err, engine.Released)
			}
		})
		if r := b.lookup(c.Key); string(r.Result) != r.State.String() {
			b.errorf("the record is %s with the result %q, want the result of the same settlement", describe(r), r.Result)
		}
	}},
}

// withShortLease returns c with a tenth of a lease.
func withShortLease(b *testbed, c engine.Claim) engine.Claim {
	c.Lease = b.Lease / 10
	return c
}

// outcomeRefusesClaims requires that later claims find the settled outcome o and are not
// granted.
func (b *testbed) outcomeRefusesClaims(o engine.State) {
	c := withFingerprint(b.claim(), "this")
	first := b.claimGranted(c)
	b.settles(settlement(c, o), engine.Released)
	want := first
	want.State, want.Result = o, []byte("the result")
	if o == engine.Unknown {
		want.Result = nil
	}
	for _, r := range []engine.Record{b.claimFinds(b.claim(), o), b.recordIs(c, o), b.claimFinds(asClaimRetry(c), o)} {
		if !same(r, want) || r.Left <= 40*b.Lease || r.Left > 50*b.Lease {
			b.errorf("the record is %s, want %s", describe(r), describe(want))
		}
	}
}
