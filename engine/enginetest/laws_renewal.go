package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// Renewals of claims.
var renewalLaws = []Law{
	{"renewal", "a renewed claim does not expire", func(b *bench) {
		c := b.claim()
		first := b.begins(c)
		for range 4 {
			b.passMost()
			b.keeps(c)
		}
		if r := b.finds(b.claim(), engine.Running); !same(r, first) {
			b.errorf("the record went from %s to %s", text(first), text(r))
		}
	}},
	{"renewal", "a claim that is no longer renewed expires", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.keeps(c)
		b.passAll()
		b.is(c, engine.Unknown)
	}},
	{"renewal", "a renewal restarts the retention", func(b *bench) {
		c := retaining(b.claim(), b.Lease*15/10)
		b.begins(c)
		b.passMost()
		b.keeps(c)
		b.passAll() // since the renewal; the claim would keep its beginning until 1.5 leases after the grant
		if r := b.is(c, engine.Unknown); r.Left > b.Lease/4 {
			b.errorf("it is kept for another %v, want as long as the renewal said", r.Left)
		}
	}},
	{"renewal", "a renewal does not shorten a claim", func(b *bench) {
		c := b.claim()
		c.Lease *= 3
		b.begins(c)
		c.Lease = b.Lease / 10
		b.keeps(c)
		b.passAll()
		b.is(c, engine.Running)
	}},
	{"renewal", "a renewal does not shorten the retention", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.keeps(retaining(c, b.Lease/10))
		b.keeps(retaining(c, 0))
		b.passAll()
		if r := b.is(c, engine.Unknown); r.Left < 40*b.Lease {
			b.errorf("it is kept for another %v, want nearly %v", r.Left, 50*b.Lease)
		}
	}},
	{"renewal", "a renewal of a claim without retention retains nothing", func(b *bench) {
		c := retaining(b.claim(), 0)
		b.begins(c)
		b.passMost()
		b.keeps(c)
		b.passMost()
		b.is(c, engine.Running)
		b.passMost()
		b.is(c, engine.Absent)
	}},
	{"renewal", "a renewal by another attempt is refused and changes nothing", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.unkept(b.claim())
		b.passMost()
		b.is(c, engine.Unknown)
	}},
	{"renewal", "a renewal of an unknown claim is refused and leaves nothing", func(b *bench) {
		c := b.claim()
		b.unkept(c)
		b.is(c, engine.Absent)
	}},
	{"renewal", "a renewal does not restore a claim", func(b *bench) {
		c, d := b.claimOf("one"), retaining(b.claimOf("two"), 0)
		b.begins(c)
		b.begins(d)
		b.passAll()
		b.unkept(c)
		b.unkept(d)
		b.is(c, engine.Unknown)
		b.is(d, engine.Absent)
	}},
	{"renewal", "a renewal does not extend an unknown outcome", func(b *bench) {
		c := retaining(b.claim(), 2*b.Lease)
		b.begins(c)
		b.passAll()
		b.unkept(c)
		b.passAll()
		b.is(c, engine.Absent)
	}},
	{"renewal", "a settled claim cannot be renewed", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			b.unkept(retaining(c, 90*b.Lease))
			b.unchanged(was)
		}
	}},
	{"renewal", "claims renewed together get separate answers", func(b *bench) {
		mine, over, settledOne, free := b.claimOf("mine"), b.claimOf("over"), b.claimOf("settled"), b.claimOf("free")
		over.Lease /= 10
		b.begins(mine)
		b.begins(over)
		b.begins(settledOne)
		b.settles(settled(settledOne, engine.Done), engine.Released)
		b.passMost()
		errs := b.ledger().Renew(b.ctx, []engine.Claim{over, mine, free, settledOne, mine})
		for i, want := range []error{engine.ErrNotHolder, nil, engine.ErrNotHolder, engine.ErrNotHolder, nil} {
			if len(errs) != 5 || !errors.Is(errs[i], want) {
				b.fatalf("the answers are %v, want none for the second and the last alone", errs)
			}
		}
		b.passMost()
		b.is(mine, engine.Running)
	}},
	{"renewal", "renewing no claims returns no answers", func(b *bench) {
		if errs := b.ledger().Renew(b.ctx, nil); len(errs) != 0 {
			b.errorf("the answers are %v, want none", errs)
		}
	}},
}
