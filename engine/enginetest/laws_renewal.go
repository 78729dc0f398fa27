package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// How a claim lasts as long as its work.
var renewalLaws = []Law{
	{"renewal", "a claim that is renewed does not run out", func(b *bench) {
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
	{"renewal", "a claim that is not renewed any more runs out", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.keeps(c)
		b.passAll()
		b.is(c, engine.Unknown)
	}},
	{"renewal", "a renewal keeps that the work began for as long as it says from now", func(b *bench) {
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
	{"renewal", "a renewal does not shorten how long it is kept that the work began", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.keeps(retaining(c, b.Lease/10))
		b.keeps(retaining(c, 0))
		b.passAll()
		if r := b.is(c, engine.Unknown); r.Left < 40*b.Lease {
			b.errorf("it is kept for another %v, want nearly %v", r.Left, 50*b.Lease)
		}
	}},
	{"renewal", "a renewal of a claim that keeps nothing keeps nothing", func(b *bench) {
		c := retaining(b.claim(), 0)
		b.begins(c)
		b.passMost()
		b.keeps(c)
		b.passMost()
		b.is(c, engine.Running)
		b.passMost()
		b.is(c, engine.Absent)
	}},
	{"renewal", "a renewal by a stranger is refused and changes nothing", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.unkept(b.claim())
		b.passMost()
		b.is(c, engine.Unknown)
	}},
	{"renewal", "a renewal of nothing is refused and leaves nothing", func(b *bench) {
		c := b.claim()
		b.unkept(c)
		b.is(c, engine.Absent)
	}},
	{"renewal", "a renewal does not bring a claim back", func(b *bench) {
		c, d := b.claimOf("one"), retaining(b.claimOf("two"), 0)
		b.begins(c)
		b.begins(d)
		b.passAll()
		b.unkept(c)
		b.unkept(d)
		b.is(c, engine.Unknown)
		b.is(d, engine.Absent)
	}},
	{"renewal", "a renewal does not keep an unknown outcome for longer", func(b *bench) {
		c := retaining(b.claim(), 2*b.Lease)
		b.begins(c)
		b.passAll()
		b.unkept(c)
		b.passAll()
		b.is(c, engine.Absent)
	}},
	{"renewal", "what was settled cannot be renewed", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			b.unkept(retaining(c, 90*b.Lease))
			b.unchanged(was)
		}
	}},
	{"renewal", "claims renewed together have answers of their own", func(b *bench) {
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
	{"renewal", "no claims renewed together have no answers", func(b *bench) {
		if errs := b.ledger().Renew(b.ctx, nil); len(errs) != 0 {
			b.errorf("the answers are %v, want none", errs)
		}
	}},
}
