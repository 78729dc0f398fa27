package enginetest

import (
	"bytes"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Outcomes and their retention.
var outcomeLaws = []Law{
	{"outcome", "a result is kept byte for byte", func(b *testbed) {
		b.ignoringTime(func() {
			large := bytes.Repeat([]byte{0, 1, 0xff, '\r', '\n', 'x', 0x80, 7}, 1<<17)
			for _, result := range [][]byte{nil, {}, {0}, []byte("nil"), []byte("订单 \xff\xfe\x00\r\n"), large} {
				c := b.claim()
				c.Lease *= 50
				b.claimGranted(c)
				s := settlement(c, engine.Done)
				s.Result, s.Retain = result, 50*b.Lease
				b.settles(s, engine.Released)
				for _, r := range []engine.Record{b.claimFinds(b.claim(), engine.Done), b.recordIs(c, engine.Done)} {
					if !bytes.Equal(r.Result, result) {
						b.fatalf("a result of %d bytes came back changed, with %d bytes", len(result), len(r.Result))
					}
				}
				b.prefix += "next:"
			}
		})
	}},
	{"outcome", "a result belongs to its record alone", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		s := settlement(c, engine.Done)
		s.Result = append(make([]byte, 0, 1<<10), s.Result...) // in a buffer that the caller reuses
		b.settles(s, engine.Released)
		copy(s.Result[:cap(s.Result)], bytes.Repeat([]byte{'X'}, 1<<10))
		b.claimFinds(b.claim(), engine.Done).Result[1] = 'X'
		b.recordIs(c, engine.Done).Result[2] = 'X'
		if r := b.recordIs(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the result became %q", r.Result)
		}
	}},
	{"outcome", "an outcome outlasts the lease of its claim", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := withRetain(b.claimOf(o.String()), 0)
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
		}
		b.sleep(2 * b.Lease)
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			b.claimFinds(b.claimOf(o.String()), o)
		}
	}},
	{"outcome", "an outcome is retained from its settlement", func(b *testbed) {
		c := withRetain(b.claim(), b.Lease)
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.settles(retainedFor(settlement(c, engine.Done), b.Lease), engine.Released)
		b.sleepMostOfLease()
		b.claimFinds(b.claim(), engine.Done)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Absent)
	}},
	{"outcome", "an outcome expires", func(b *testbed) {
		outcomes := []engine.State{engine.Done, engine.Failed, engine.Unknown}
		for _, o := range outcomes {
			c := b.claimOf(o.String())
			b.claimGranted(c)
			b.settles(retainedFor(settlement(c, o), b.Lease), engine.Released)
		}
		b.sleepPastLease()
		for _, o := range outcomes {
			b.recordIs(b.claimOf(o.String()), engine.Absent)
			b.claimGranted(withFingerprint(b.claimOf(o.String()), "something else"))
		}
	}},
	{"outcome", "an outcome reports how long it is retained", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.settles(retainedFor(settlement(c, engine.Done), b.Lease), engine.Released)
		if r := b.recordIs(c, engine.Done); r.Left > b.Lease || r.Left < b.Lease*8/10 {
			b.errorf("Left is %v, want nearly %v", r.Left, b.Lease)
		}
		b.sleepMostOfLease()
		if r := b.claimFinds(b.claim(), engine.Done); r.Left <= 0 || r.Left > b.Lease/2 {
			b.errorf("Left is %v, want at most half of %v", r.Left, b.Lease)
		}
	}},
	{"outcome", "a claim that finds an outcome does not extend its retention", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.settles(retainedFor(settlement(c, engine.Done), b.Lease), engine.Released)
		b.sleepMostOfLease()
		b.claimFinds(b.claim(), engine.Done)
		b.claimFinds(asClaimRetry(c), engine.Done)
		b.recordIs(c, engine.Done)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Absent)
	}},
	{"outcome", "an outcome may be retained from the start of the work", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.settles(retainedFromStart(settlement(c, engine.Done), b.Lease), engine.Released)
		if r := b.claimFinds(b.claim(), engine.Done); r.Left > b.Lease/2 {
			b.errorf("Left is %v, want at most half of a lease", r.Left)
		}
		b.sleepMostOfLease()
		b.recordIs(c, engine.Absent)
	}},
	{"outcome", "renewals do not change when the work began", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.claimRenewed(c)
		b.claimGranted(asClaimRetry(c))
		b.settles(retainedFromStart(settlement(c, engine.Failed), b.Lease), engine.Released)
		b.claimFinds(b.claim(), engine.Failed)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Absent)
	}},
	{"outcome", "an outcome whose retention has passed is not stored", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.settles(retainedFromStart(settlement(c, engine.Done), b.Lease/2), engine.Released)
		b.recordIs(c, engine.Absent)
		b.claimGranted(withFingerprint(b.claim(), "something else"))
	}},
	{"outcome", "a claim that takes over restarts the work", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepPastLease()
		c := takingOver(b.claim())
		b.claimGranted(c)
		b.settles(retainedFromStart(settlement(c, engine.Done), b.Lease), engine.Released)
		b.claimFinds(b.claim(), engine.Done)
	}},
	{"outcome", "an expired outcome leaves its key to new claims", func(b *testbed) {
		c, d := b.claim(), b.claim()
		first := b.claimGranted(c)
		b.settles(retainedFor(settlement(c, engine.Done), b.Lease/10), engine.Released)
		b.sleep(b.Lease / 2)
		if r := b.claimGranted(d); r.Fence <= first.Fence || len(r.Result) > 0 {
			b.errorf("the claim %s follows %s, want a higher fence and no result", describe(r), describe(first))
		}
		b.settles(settlement(c, engine.Failed), engine.NotYours)
		b.recordIs(d, engine.Running)
	}},
}

// retainedFor returns s with another retention.
func retainedFor(s engine.Settlement, d time.Duration) engine.Settlement {
	s.Retain = d
	return s
}

// retainedFromStart returns s with a retention that counts from the start of the work.
func retainedFromStart(s engine.Settlement, d time.Duration) engine.Settlement {
	s.Retain, s.FromStart = d, true
	return s
}
