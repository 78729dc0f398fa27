package enginetest

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A call to a ledger whose context is done says so and changes nothing.
var ledgerLaws = []Law{
	{"ledger", "a claim whose context is done changes nothing", func(b *bench) {
		c := b.claim()
		b.cancelled(second(b.ledger().Claim(b.done(), c)))
		b.is(c, engine.Absent)
	}},
	{"ledger", "a renewal of claims whose context is done changes nothing", func(b *bench) {
		c, d := b.claimOf("one"), b.claimOf("two")
		b.begins(c)
		b.begins(d)
		b.passMost()
		errs := b.ledger().Renew(b.done(), []engine.Claim{c, d})
		if len(errs) != 2 {
			b.fatalf("two claims have %d answers", len(errs))
		}
		b.cancelled(errs[0])
		b.cancelled(errs[1])
		b.passMost()
		b.is(c, engine.Unknown)
	}},
	{"ledger", "a settlement whose context is done changes nothing", func(b *bench) {
		c := b.claim()
		b.begins(c)
		was := b.is(c, engine.Running)
		b.cancelled(second(b.ledger().Settle(b.done(), settled(c, engine.Done))))
		b.cancelled(second(b.ledger().Settle(b.done(), undone(c))))
		b.unchanged(was)
		b.begins(resent(c))
	}},
	{"ledger", "a lookup whose context is done fails", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.cancelled(second(b.ledger().Lookup(b.done(), c.Key)))
		_, _, err := b.ledger().List(b.done(), b.prefix+"*", "")
		b.cancelled(err)
	}},
	{"ledger", "cancelling the context of a claim does not end it", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		c := b.claim()
		if _, err := b.ledger().Claim(ctx, c); err != nil {
			b.errorf("claim: %v", err)
		}
		cancel()
		b.pass(b.Lease / 10)
		b.is(c, engine.Running)
	}},
}

// Valid and invalid claims and settlements.
var ledgerInputLaws = []Law{
	{"ledger", "a claim without a key is refused", func(b *bench) {
		b.senseless(func(c *engine.Claim, s *engine.Settlement) { c.Key, s.Key = "", "" })
	}},
	{"ledger", "a claim without an attempt is refused", func(b *bench) {
		b.senseless(func(c *engine.Claim, s *engine.Settlement) { c.Attempt, s.Attempt = "", "" })
	}},
	{"ledger", "a claim without a lease is refused", func(b *bench) {
		for _, lease := range []time.Duration{0, -b.Lease} {
			b.senseless(func(c *engine.Claim, s *engine.Settlement) { c.Lease, *s = lease, undone(*c); s.Lease = lease })
		}
	}},
	{"ledger", "a claim with a negative retention is refused", func(b *bench) {
		b.senseless(func(c *engine.Claim, s *engine.Settlement) { c.Retain, s.Retain = -b.Lease, -b.Lease })
	}},
	{"ledger", "a settlement with an invalid outcome is refused", func(b *bench) {
		for _, o := range []engine.State{engine.Running, engine.Unknown + 1, 255} {
			b.unsettled(func(s *engine.Settlement) { s.Outcome = o })
		}
	}},
	{"ledger", "an outcome without a retention is refused", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			for _, d := range []time.Duration{0, -b.Lease} {
				b.unsettled(func(s *engine.Settlement) { s.Outcome, s.Retain = o, d })
				b.unsettled(func(s *engine.Settlement) { s.Outcome, s.Retain, s.FromStart = o, d, true })
			}
		}
	}},
	{"ledger", "an abandoned claim cannot have an outcome", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			b.unsettled(func(s *engine.Settlement) { s.Outcome, s.Abandon, s.Lease = o, true, b.Lease })
		}
	}},
	{"ledger", "a lookup without a key is refused", func(b *bench) {
		b.rejected(second(b.ledger().Lookup(b.ctx, "")))
	}},
	{"ledger", "one bad claim in a batch does not affect the others", func(b *bench) {
		good, bad := b.claim(), b.claim()
		bad.Attempt = ""
		b.begins(good)
		errs := b.ledger().Renew(b.ctx, []engine.Claim{bad, good})
		if len(errs) != 2 || errs[0] == nil || errs[1] != nil {
			b.errorf("the answers are %v, want an error for the first alone", errs)
		}
	}},
}

// senseless demands that a claim which was spoilt is refused by every call, and in
// no way that would make a caller try again or clean up.
func (b *bench) senseless(spoil func(*engine.Claim, *engine.Settlement)) {
	c := b.claim()
	s, good := settled(c, engine.Done), c
	spoil(&c, &s)
	b.rejected(second(b.ledger().Claim(b.ctx, c)))
	b.rejected(b.reclaim(c))
	b.rejected(second(b.ledger().Settle(b.ctx, s)))
	b.is(good, engine.Absent)
	b.begins(b.claim())
	b.prefix += "next:"
}

// unsettled demands that a settlement which was spoilt is refused, and that the
// claim is still there.
func (b *bench) unsettled(spoil func(*engine.Settlement)) {
	c := b.claim()
	b.begins(c)
	was := b.is(c, engine.Running)
	s := settled(c, engine.Done)
	spoil(&s)
	b.rejected(second(b.ledger().Settle(b.ctx, s)))
	b.unchanged(was)
	b.keeps(c)
	b.prefix += "next:"
}
