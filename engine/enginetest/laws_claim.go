package enginetest

import (
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Claims: one caller gets the right to do the work of a key.
var claimLaws = []Law{
	{"claim", "a claim of an unknown key is granted", func(b *testbed) {
		r := b.claimGranted(withFingerprint(b.claim(), "this"))
		if r.Fence == 0 || r.Began.IsZero() || r.Left <= 0 || r.Left > b.Lease || r.Fingerprint != "this" || len(r.Result) > 0 {
			b.errorf("the record is %s, began at %v; want a new running claim", describe(r), r.Began)
		}
	}},
	{"claim", "a second claim learns that the first is running", func(b *testbed) {
		first := b.claimGranted(b.claim())
		r := b.claimFinds(b.claim(), engine.Running)
		if !same(r, first) || r.Left <= 0 || r.Left > b.Lease {
			b.errorf("the record is %s, want %s", describe(r), describe(first))
		}
	}},
	{"claim", "a second claim learns how much of the first lease is left", func(b *testbed) {
		b.claimGranted(b.claim())
		b.sleepMostOfLease()
		if r := b.claimFinds(b.claim(), engine.Running); r.Left <= 0 || r.Left > b.Lease/2 {
			b.errorf("Left is %v, want at most half of the lease of %v", r.Left, b.Lease)
		}
	}},
	{"claim", "a second claim changes nothing", func(b *testbed) {
		b.claimGranted(b.claim())
		was := b.recordIs(b.claim(), engine.Running)
		c := withRetain(b.claim(), 90*b.Lease)
		c.Lease *= 20
		b.claimFinds(c, engine.Running)
		b.unchanged(was)
		b.sleepPastLease()
		if r := b.recordIs(c, engine.Unknown); r.Left > 50*b.Lease {
			b.errorf("the unknown outcome is kept for %v, want at most the retention of the first claim", r.Left)
		}
	}},
	{"claim", "a repeated claim is granted with the same fence", func(b *testbed) {
		c := withFingerprint(b.claim(), "this")
		first := b.claimGranted(c)
		for _, c := range []engine.Claim{c, asClaimRetry(c), c} {
			if r := b.claimGranted(c); !same(r, first) {
				b.errorf("the grant went from %s to %s", describe(first), describe(r))
			}
		}
	}},
	{"claim", "a repeated claim restarts its lease", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		if r := b.claimGranted(asClaimRetry(c)); r.Left < b.Lease*8/10 {
			b.errorf("%v of the lease are left, want all of %v", r.Left, b.Lease)
		}
		b.sleepMostOfLease()
		b.recordIs(c, engine.Running)
	}},
	{"claim", "a repeated claim does not shorten its lease", func(b *testbed) {
		c := b.claim()
		c.Lease *= 3
		b.claimGranted(c)
		c.Lease = b.Lease / 10
		b.claimGranted(asClaimRetry(c))
		b.sleepPastLease()
		b.recordIs(c, engine.Running)
	}},
	{"claim", "a claim repeated after its lease expired is a new claim", func(b *testbed) {
		c := b.claim()
		first := b.claimGranted(c)
		b.sleepPastLease()
		if r := b.claimFinds(asClaimRetry(c), engine.Unknown); r.Fence != first.Fence {
			b.errorf("the fence is %d, want %d", r.Fence, first.Fence)
		}
	}},
	{"claim", "of concurrent claims one is granted", func(b *testbed) {
		cs := make([]engine.Claim, 50)
		for i := range cs {
			cs[i] = b.claim()
		}
		b.oneGranted(cs)
	}},
	{"claim", "concurrent repeats of one claim are all granted with one fence", func(b *testbed) {
		c := b.claim()
		first := b.claimGranted(c)
		b.together(20, func(int) {
			if r, err := b.ledger().Claim(b.ctx, asClaimRetry(c)); err != nil || !r.Granted || r.Fence != first.Fence {
				b.errorf("got %s, error %v; want fence %d", describe(r), err, first.Fence)
			}
		})
	}},
	{"claim", "fences grow with every claim of a key", func(b *testbed) {
		var last uint64
		for range 5 {
			c := b.claim()
			r := b.claimGranted(c)
			if r.Fence <= last {
				b.fatalf("fence %d follows fence %d, want a higher one", r.Fence, last)
			}
			last = r.Fence
			b.settles(settlement(c, engine.Absent), engine.Released)
		}
	}},
	{"claim", "fences grow although the clock was set back", func(b *testbed) {
		c, clock := b.claim(), b.clock()
		first := b.claimGranted(c)
		b.settles(settlement(c, engine.Unknown), engine.Released)
		clock.Step(-time.Hour)
		if r := b.claimGranted(takingOver(b.claim())); r.Fence <= first.Fence {
			b.errorf("fence %d follows fence %d, want a higher one", r.Fence, first.Fence)
		}
	}},
	{"claim", "claims of different keys are independent", func(b *testbed) {
		one, two := b.claimOf("one"), b.claimOf("two")
		b.claimGranted(one)
		b.claimGranted(two)
		b.settles(settlement(one, engine.Done), engine.Released)
		b.recordIs(two, engine.Running)
		b.settles(settlement(two, engine.Absent), engine.Released)
		b.recordIs(one, engine.Done)
	}},
}

// oneGranted requires that exactly one of several concurrent claims is granted, and that
// the others find a running claim.
func (b *testbed) oneGranted(cs []engine.Claim) {
	var granted atomic.Int32
	b.together(len(cs), func(i int) {
		r, err := b.ledger().Claim(b.ctx, cs[i])
		if err != nil || r.State != engine.Running {
			b.errorf("got %s, error %v; want a running claim", describe(r), err)
		}
		if r.Granted {
			granted.Add(1)
		}
	})
	if n := granted.Load(); n != 1 {
		b.errorf("%d of %d claims were granted, want one", n, len(cs))
	}
}
