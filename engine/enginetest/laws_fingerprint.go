package enginetest

import (
	"errors"
	"sync/atomic"

	"github.com/interlock-go/interlock/engine"
)

// One key is for one thing.
var fingerprintLaws = []Law{
	{"fingerprint", "a claim with another fingerprint than the running one is a mismatch", func(b *bench) {
		b.mismatchedWhen(func(engine.Claim) {})
	}},
	{"fingerprint", "a claim with another fingerprint than the done record is a mismatch", func(b *bench) {
		b.mismatchedWhen(func(c engine.Claim) { b.settles(settled(c, engine.Done), engine.Released) })
	}},
	{"fingerprint", "a claim with another fingerprint than the failed record is a mismatch", func(b *bench) {
		b.mismatchedWhen(func(c engine.Claim) { b.settles(settled(c, engine.Failed), engine.Released) })
	}},
	{"fingerprint", "a claim with another fingerprint than a settled unknown record is a mismatch", func(b *bench) {
		b.mismatchedWhen(func(c engine.Claim) { b.settles(settled(c, engine.Unknown), engine.Released) })
	}},
	{"fingerprint", "a claim with another fingerprint than an expired claim is a mismatch", func(b *bench) {
		b.mismatchedWhen(func(engine.Claim) { b.passAll() })
	}},
	{"fingerprint", "a repeated claim with another fingerprint is a mismatch", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		b.claimRefused(about(resent(c), "that"), engine.ErrMismatch)
	}},
	{"fingerprint", "a mismatch changes nothing", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		was := b.is(c, engine.Running)
		b.passMost()
		b.claimRefused(about(resent(c), "that"), engine.ErrMismatch)
		b.claimRefused(about(taking(b.claim()), "that"), engine.ErrMismatch)
		b.unchanged(was)
		b.passMost()
		b.is(c, engine.Unknown)
	}},
	{"fingerprint", "a claim without a fingerprint finds any record", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		b.finds(b.claim(), engine.Running)
		b.begins(about(resent(c), ""))
		b.settles(settled(c, engine.Done), engine.Released)
		if r := b.finds(b.claim(), engine.Done); r.Fingerprint != "this" {
			b.errorf("the record is for %q, want %q", r.Fingerprint, "this")
		}
	}},
	{"fingerprint", "a claim without a fingerprint keeps the record's fingerprint", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		b.finds(b.claim(), engine.Running)
		b.begins(about(resent(c), ""))
		b.keeps(about(c, ""))
		b.claimRefused(about(b.claim(), "that"), engine.ErrMismatch)
		b.finds(about(b.claim(), "this"), engine.Running)
	}},
	{"fingerprint", "a record without a fingerprint matches any claim", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.finds(about(b.claim(), "this"), engine.Running)
		b.finds(about(b.claim(), "that"), engine.Running)
		b.settles(settled(c, engine.Done), engine.Released)
		b.finds(about(b.claim(), "this"), engine.Done)
		b.finds(about(b.claim(), "that"), engine.Done)
	}},
	{"fingerprint", "of two concurrent claims with different fingerprints one is granted and the other is a mismatch", func(b *bench) {
		for range 10 {
			cs := []engine.Claim{about(b.claim(), "this"), about(b.claim(), "that")}
			var granted, mismatched atomic.Int32
			b.together(len(cs), func(i int) {
				r, err := b.ledger().Claim(b.ctx, cs[i])
				switch {
				case err == nil && r.Granted:
					granted.Add(1)
				case errors.Is(err, engine.ErrMismatch):
					mismatched.Add(1)
				}
			})
			if granted.Load() != 1 || mismatched.Load() != 1 {
				b.fatalf("%d are granted and %d a mismatch, want one each", granted.Load(), mismatched.Load())
			}
			for _, c := range cs {
				if _, err := b.ledger().Settle(b.ctx, settled(c, engine.Absent)); err != nil {
					b.fatalf("settle: %v", err)
				}
			}
		}
	}},
	{"fingerprint", "a fingerprint expires with its record", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		b.settles(settled(c, engine.Absent), engine.Released)
		if r := b.is(c, engine.Absent); r.Fingerprint != "" {
			b.errorf("a record that is absent is for %q", r.Fingerprint)
		}
		for _, r := range []engine.Record{b.begins(b.claim()), b.is(c, engine.Running)} {
			if r.Fingerprint != "" {
				b.errorf("a new claim is for %q, which it did not say", r.Fingerprint)
			}
		}
	}},
	{"fingerprint", "a fingerprint expires with a claim that retains nothing", func(b *bench) {
		b.begins(retaining(about(b.claim(), "this"), 0))
		b.passAll()
		b.begins(about(b.claim(), "that"))
	}},
	{"fingerprint", "fingerprints are compared completely", func(b *bench) {
		for i, f := range []string{"this", "x", "a\x00b", "订单"} {
			c := about(b.claimOf(oddKeys[i]), f)
			b.begins(c)
			for _, other := range []string{f + " ", f + "\x00", f[:len(f)-1] + "\xff", f + f} {
				b.claimRefused(about(b.claimOf(oddKeys[i]), other), engine.ErrMismatch)
			}
			b.finds(about(b.claimOf(oddKeys[i]), f), engine.Running)
		}
	}},
}

// mismatchedWhen demands that after what happens to a claim, another is refused if
// it is for something else, and only then.
func (b *bench) mismatchedWhen(happens func(engine.Claim)) {
	c := about(b.claim(), "this")
	b.begins(c)
	happens(c)
	was := b.lookup(c.Key)
	b.claimRefused(about(b.claim(), "that"), engine.ErrMismatch)
	b.claimRefused(about(taking(b.claim()), "that"), engine.ErrMismatch)
	b.unchanged(was)
	b.finds(about(b.claim(), "this"), was.State)
}
