package enginetest

import (
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Claims: one caller gets the right to do the work of a key.
var claimLaws = []Law{
	{"claim", "a claim of an unknown key is granted", func(b *bench) {
		r := b.begins(about(b.claim(), "this"))
		if r.Fence == 0 || r.Began.IsZero() || r.Left <= 0 || r.Left > b.Lease || r.Fingerprint != "this" || len(r.Result) > 0 {
			b.errorf("the record is %s, began at %v", text(r), r.Began)
		}
	}},
	{"claim", "a second claim learns that the first is running", func(b *bench) {
		first := b.begins(b.claim())
		r := b.finds(b.claim(), engine.Running)
		if !same(r, first) || r.Left <= 0 || r.Left > b.Lease {
			b.errorf("the record is %s, want %s", text(r), text(first))
		}
	}},
	{"claim", "a second claim learns how much of the first lease is left", func(b *bench) {
		b.begins(b.claim())
		b.passMost()
		if r := b.finds(b.claim(), engine.Running); r.Left <= 0 || r.Left > b.Lease/2 {
			b.errorf("%v of a lease of %v are said to be left, of which most is over", r.Left, b.Lease)
		}
	}},
	{"claim", "a second claim changes nothing", func(b *bench) {
		b.begins(b.claim())
		was := b.is(b.claim(), engine.Running)
		c := retaining(b.claim(), 90*b.Lease)
		c.Lease *= 20
		b.finds(c, engine.Running)
		b.unchanged(was)
		b.passAll()
		if r := b.is(c, engine.Unknown); r.Left > 50*b.Lease {
			b.errorf("that the work began is kept for %v, which the first did not ask for", r.Left)
		}
	}},
	{"claim", "a repeated claim is granted with the same fence", func(b *bench) {
		c := about(b.claim(), "this")
		first := b.begins(c)
		for _, c := range []engine.Claim{c, resent(c), c} {
			if r := b.begins(c); !same(r, first) {
				b.errorf("the grant went from %s to %s", text(first), text(r))
			}
		}
	}},
	{"claim", "a repeated claim restarts its lease", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		if r := b.begins(resent(c)); r.Left < b.Lease*8/10 {
			b.errorf("%v of the lease are left, want all of %v", r.Left, b.Lease)
		}
		b.passMost()
		b.is(c, engine.Running)
	}},
	{"claim", "a repeated claim does not shorten its lease", func(b *bench) {
		c := b.claim()
		c.Lease *= 3
		b.begins(c)
		c.Lease = b.Lease / 10
		b.begins(resent(c))
		b.passAll()
		b.is(c, engine.Running)
	}},
	{"claim", "a claim repeated after its lease expired is a new claim", func(b *bench) {
		c := b.claim()
		first := b.begins(c)
		b.passAll()
		if r := b.finds(resent(c), engine.Unknown); r.Fence != first.Fence {
			b.errorf("the fence is %d, want %d", r.Fence, first.Fence)
		}
	}},
	{"claim", "of concurrent claims one is granted", func(b *bench) {
		cs := make([]engine.Claim, 50)
		for i := range cs {
			cs[i] = b.claim()
		}
		b.oneOf(cs)
	}},
	{"claim", "concurrent repeats of one claim are all granted with one fence", func(b *bench) {
		c := b.claim()
		first := b.begins(c)
		b.together(20, func(int) {
			if r, err := b.ledger().Claim(b.ctx, resent(c)); err != nil || !r.Granted || r.Fence != first.Fence {
				b.errorf("got %s, error %v; want fence %d", text(r), err, first.Fence)
			}
		})
	}},
	{"claim", "fences grow with every claim of a key", func(b *bench) {
		var last uint64
		for range 5 {
			c := b.claim()
			r := b.begins(c)
			if r.Fence <= last {
				b.fatalf("fence %d comes after %d", r.Fence, last)
			}
			last = r.Fence
			b.settles(settled(c, engine.Absent), engine.Released)
		}
	}},
	{"claim", "fences grow although the clock was set back", func(b *bench) {
		c, clock := b.claim(), b.clock()
		first := b.begins(c)
		b.settles(settled(c, engine.Unknown), engine.Released)
		clock.Step(-time.Hour)
		if r := b.begins(taking(b.claim())); r.Fence <= first.Fence {
			b.errorf("fence %d comes after %d", r.Fence, first.Fence)
		}
	}},
	{"claim", "claims of different keys are independent", func(b *bench) {
		one, two := b.claimOf("one"), b.claimOf("two")
		b.begins(one)
		b.begins(two)
		b.settles(settled(one, engine.Done), engine.Released)
		b.is(two, engine.Running)
		b.settles(settled(two, engine.Absent), engine.Released)
		b.is(one, engine.Done)
	}},
}

// oneOf demands that one of the claims is granted when all are made at once, and
// that the others are told that it is running.
func (b *bench) oneOf(cs []engine.Claim) {
	var granted atomic.Int32
	b.together(len(cs), func(i int) {
		r, err := b.ledger().Claim(b.ctx, cs[i])
		if err != nil || r.State != engine.Running {
			b.errorf("got %s, error %v; want one that is running", text(r), err)
		}
		if r.Granted {
			granted.Add(1)
		}
	})
	if n := granted.Load(); n != 1 {
		b.errorf("%d of %d were granted the claim, want one", n, len(cs))
	}
}
