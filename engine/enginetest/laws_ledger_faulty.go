package enginetest

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// Lost replies, delays and duplicates of ledger calls.
var ledgerFaultyLaws = []Law{
	{"ledger", "a claim whose reply was lost is granted with one fence when repeated", func(b *bench) {
		c := b.claim()
		f, l := b.villain()
		f.Inject(Fault{Op: OpClaim, Do: LoseReply, Times: 1})
		b.unknown(second(l.Claim(b.ctx, c)))
		was := b.is(c, engine.Running)
		if r := b.begins(resent(c)); !same(r, was) {
			b.errorf("the claim went from %s to %s", text(was), text(r))
		}
	}},
	{"ledger", "a claim whose reply was lost can be abandoned", func(b *bench) {
		c := b.claim()
		f, l := b.villain()
		f.Inject(Fault{Op: OpClaim, Do: LoseReply, Times: 1})
		b.unknown(second(l.Claim(b.ctx, c)))
		b.settles(undone(c), engine.Released)
		b.begins(b.claim())
	}},
	{"ledger", "a claim delivered twice is one claim", func(b *bench) {
		c := b.claim()
		f, l := b.villain()
		f.Inject(Fault{Op: OpClaim, Do: Duplicate, Times: 1})
		if r, err := l.Claim(b.ctx, c); err != nil || !r.Granted {
			b.fatalf("got %s, error %v; want a grant", text(r), err)
		}
		b.settles(settled(c, engine.Absent), engine.Released)
		b.is(c, engine.Absent)
	}},
	{"ledger", "a claim that lands after it was abandoned is not granted", func(b *bench) {
		c := b.claim()
		f, l := b.villain()
		c.Retry = b.Capabilities().LateGrant > 0 // it would be granted otherwise, as declared
		b.givesUp(f, OpClaim, func(ctx context.Context) error { return second(l.Claim(ctx, c)) })
		b.settles(undone(c), engine.AlreadyFree)
		b.arrives(f)
		b.is(c, engine.Absent)
	}},
	{"ledger", "a late claim does not change a newer claim", func(b *bench) {
		c, d := taking(b.claim()), b.claim()
		f, l := b.villain()
		b.givesUp(f, OpClaim, func(ctx context.Context) error { return second(l.Claim(ctx, c)) })
		b.begins(d)
		was := b.is(d, engine.Running)
		b.arrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a late claim does not change an outcome settled meanwhile", func(b *bench) {
		c := taking(b.claim())
		f, l := b.villain()
		b.givesUp(f, OpClaim, func(ctx context.Context) error { return second(l.Claim(ctx, c)) })
		b.begins(resent(c))
		b.settles(settled(c, engine.Done), engine.Released)
		was := b.is(c, engine.Done)
		b.arrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a settlement whose reply was lost has the same answer when repeated", func(b *bench) {
		c := b.claim()
		b.begins(c)
		f, l := b.villain()
		f.Inject(Fault{Op: OpSettle, Do: LoseReply, Times: 1})
		b.unknown(second(l.Settle(b.ctx, settled(c, engine.Done))))
		was := b.is(c, engine.Done)
		b.settles(settled(c, engine.Done), engine.Released)
		b.unchanged(was)
	}},
	{"ledger", "a settlement delivered twice is one", func(b *bench) {
		c := b.claim()
		b.begins(c)
		f, l := b.villain()
		f.Inject(Fault{Op: OpSettle, Do: Duplicate, Times: 1})
		if o, err := l.Settle(b.ctx, settled(c, engine.Done)); err != nil || o != engine.Released {
			b.fatalf("settle: %v, error %v; want %v", o, err, engine.Released)
		}
		if r := b.is(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the record is %s", text(r))
		}
	}},
	{"ledger", "a late settlement does not change a newer claim", func(b *bench) {
		c, d := retaining(b.claim(), 0), b.claim()
		c.Lease, d.Lease = b.Lease/20, 4*b.Lease
		b.begins(c)
		f, l := b.villain()
		b.givesUp(f, OpSettle, func(ctx context.Context) error { return second(l.Settle(ctx, settled(c, engine.Done))) })
		b.begins(d)
		was := b.is(d, engine.Running)
		b.arrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a settlement that lands after the lease leaves the outcome unknown", func(b *bench) {
		c := b.claim()
		c.Lease /= 5
		b.begins(c)
		f, l := b.villain()
		b.givesUp(f, OpSettle, func(ctx context.Context) error { return second(l.Settle(ctx, settled(c, engine.Done))) })
		b.arrives(f)
		b.is(c, engine.Unknown)
	}},
	{"ledger", "a late settlement is stored as it was sent", func(b *bench) {
		c := b.claim()
		b.begins(c)
		f, l := b.villain()
		s := settled(c, engine.Done)
		b.givesUp(f, OpSettle, func(ctx context.Context) error { return second(l.Settle(ctx, s)) })
		s.Result[0] = 'X'
		b.arrives(f)
		if r := b.is(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the result became %q", r.Result)
		}
	}},
	{"ledger", "a late abandon does not undo a newer claim", func(b *bench) {
		c, d := retaining(b.claim(), 0), b.claim()
		c.Lease = b.Lease / 20
		b.begins(c)
		f, l := b.villain()
		b.givesUp(f, OpSettle, func(ctx context.Context) error { return second(l.Settle(ctx, undone(c))) })
		b.begins(d)
		was := b.is(d, engine.Running)
		b.arrives(f)
		b.unchanged(was)
	}},
	{"ledger", "a renewal of a claim whose reply was lost has happened", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		f, l := b.villain()
		f.Inject(Fault{Op: OpClaimRenew, Do: LoseReply, Times: 1})
		b.unknown(l.Renew(b.ctx, []engine.Claim{c})[0])
		b.passMost()
		b.is(c, engine.Running)
	}},
	{"ledger", "a late renewal does not restore a claim", func(b *bench) {
		c := b.claim()
		b.begins(c)
		f, l := b.villain()
		b.givesUp(f, OpClaimRenew, func(ctx context.Context) error { return l.Renew(ctx, []engine.Claim{c})[0] })
		b.settles(settled(c, engine.Absent), engine.Released)
		b.arrives(f)
		b.is(c, engine.Absent)
	}},
	{"ledger", "a late renewal does not prolong a newer claim", func(b *bench) {
		c, d := retaining(b.claim(), 0), b.claim()
		c.Lease = b.Lease / 20
		b.begins(c)
		f, l := b.villain()
		c.Lease = 50 * b.Lease
		b.givesUp(f, OpClaimRenew, func(ctx context.Context) error { return l.Renew(ctx, []engine.Claim{c})[0] })
		b.begins(d)
		was := b.is(d, engine.Running)
		b.arrives(f)
		b.unchanged(was)
		b.passAll()
		b.is(d, engine.Unknown)
	}},
}

// villain is the engine, with a ledger that fails on purpose.
func (b *bench) villain() (*Faulty, engine.Ledger) {
	f := NewFaulty(b.Engine)
	return f, f.Capabilities().Ledger
}
