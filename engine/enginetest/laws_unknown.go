package enginetest

import "github.com/interlock-go/interlock/engine"

// Unknown outcomes of claims whose holder died.
var unknownLaws = []Law{
	{"unknown", "a claim whose holder dies leaves an unknown outcome", func(b *bench) {
		first := b.begins(about(b.claim(), "this"))
		b.pass(2 * b.Lease)
		r := b.finds(b.claim(), engine.Unknown)
		if r.Fence != first.Fence || !r.Began.Equal(first.Began) || r.Fingerprint != "this" || len(r.Result) > 0 {
			b.errorf("the record is %s, want that of %s", text(r), text(first))
		}
		b.finds(b.claim(), engine.Unknown)
		b.is(b.claim(), engine.Unknown)
	}},
	{"unknown", "a granted claim reports whether it took over an unknown outcome", func(b *bench) {
		first := b.begins(taking(b.claim()))
		b.passAll()
		c := taking(b.claim())
		second, again := b.begins(c), b.begins(c)
		fresh := b.begins(taking(b.claimOf("other")))
		if first.TookOver || !second.TookOver || !again.TookOver || fresh.TookOver {
			b.errorf("told %v at first, %v and %v of the one after, and %v elsewhere", first.TookOver, second.TookOver, again.TookOver, fresh.TookOver)
		}
		if r := b.finds(b.claim(), engine.Running); r.TookOver {
			b.errorf("another caller is told that it was granted")
		}
	}},
	{"unknown", "a claim without retention whose holder dies leaves nothing", func(b *bench) {
		c := retaining(b.claim(), 0)
		b.begins(c)
		b.passAll()
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"unknown", "an unknown outcome expires", func(b *bench) {
		c := retaining(b.claim(), 2*b.Lease)
		b.begins(c)
		b.passAll()
		b.finds(b.claim(), engine.Unknown)
		b.passAll()
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"unknown", "an unknown outcome reports how long it is retained", func(b *bench) {
		b.begins(retaining(b.claim(), 3*b.Lease))
		b.passAll()
		for _, r := range []engine.Record{b.finds(b.claim(), engine.Unknown), b.is(b.claim(), engine.Unknown)} {
			if r.Left <= 0 || r.Left > 3*b.Lease-b.Lease*13/10 {
				b.errorf("%v are left, want less than the rest of %v", r.Left, 3*b.Lease)
			}
		}
	}},
	{"unknown", "a claim of an unknown outcome does not extend its retention", func(b *bench) {
		b.begins(retaining(b.claim(), 2*b.Lease))
		b.passAll()
		b.finds(retaining(b.claim(), 50*b.Lease), engine.Unknown)
		b.passAll()
		b.is(b.claim(), engine.Absent)
	}},
	{"unknown", "a claim lasts for its lease even if its retention is shorter", func(b *bench) {
		c := retaining(b.claim(), b.Lease/10)
		b.begins(c)
		b.pass(b.Lease / 2)
		b.finds(b.claim(), engine.Running)
		b.keeps(retaining(c, 0))
		b.passAll()
		b.is(c, engine.Absent)
	}},
	{"unknown", "of concurrent claims after a dead claim one is granted", func(b *bench) {
		b.begins(retaining(b.claim(), 0))
		b.passAll()
		cs := make([]engine.Claim, 20)
		for i := range cs {
			cs[i] = b.claim()
		}
		b.oneOf(cs)
	}},
}

// Takeover of unknown outcomes.
var takeLaws = []Law{
	{"takeover", "an unknown outcome can be taken over with a higher fence", func(b *bench) {
		first := b.begins(b.claim())
		b.passAll()
		r := b.begins(taking(b.claim()))
		if r.Fence <= first.Fence || !r.Began.After(first.Began) || r.Left <= 0 || r.Left > b.Lease {
			b.errorf("%s, began at %v, comes after %s, began at %v", text(r), r.Began, text(first), first.Began)
		}
		b.finds(b.claim(), engine.Running)
	}},
	{"takeover", "an outcome settled as unknown can be taken over", func(b *bench) {
		c := b.claim()
		first := b.begins(c)
		b.settles(settled(c, engine.Unknown), engine.Released)
		if r := b.begins(taking(b.claim())); r.Fence <= first.Fence {
			b.errorf("fence %d comes after %d", r.Fence, first.Fence)
		}
	}},
	{"takeover", "a claim that took over can settle", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := taking(b.claim())
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		if r := b.is(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the record is %s", text(r))
		}
	}},
	{"takeover", "a running claim is not taken over", func(b *bench) {
		c := b.claim()
		b.begins(c)
		was := b.is(c, engine.Running)
		b.finds(taking(b.claim()), engine.Running)
		b.unchanged(was)
		b.keeps(c)
	}},
	{"takeover", "a done or failed outcome is not taken over", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed} {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			b.finds(taking(b.claimOf(o.String())), o)
			b.unchanged(was)
		}
	}},
	{"takeover", "a takeover without a record is a plain claim", func(b *bench) {
		b.begins(taking(b.claim()))
	}},
	{"takeover", "of concurrent takeovers one is granted", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		cs := make([]engine.Claim, 50)
		for i := range cs {
			cs[i] = taking(b.claim())
		}
		b.oneOf(cs)
	}},
	{"takeover", "a takeover without a fingerprint keeps the record's fingerprint", func(b *bench) {
		b.begins(about(b.claim(), "this"))
		b.passAll()
		c := taking(b.claim())
		c.Attempt += ", of one with a longer name"
		if r := b.begins(c); r.Fingerprint != "this" {
			b.errorf("the record is for %q, want %q", r.Fingerprint, "this")
		}
		b.claimRefused(about(b.claim(), "that"), engine.ErrMismatch)
	}},
	{"takeover", "a takeover sets the fingerprint of a record without one", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		if r := b.begins(about(taking(b.claim()), "this")); r.Fingerprint != "this" {
			b.errorf("the record is for %q, want %q", r.Fingerprint, "this")
		}
		b.claimRefused(about(b.claim(), "that"), engine.ErrMismatch)
	}},
	{"takeover", "a takeover without retention leaves nothing", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := retaining(taking(b.claim()), 0)
		b.begins(c)
		b.is(c, engine.Running)
		b.passAll()
		b.is(c, engine.Absent)
	}},
	{"takeover", "a takeover whose holder dies leaves an unknown outcome", func(b *bench) {
		b.begins(retaining(b.claim(), 2*b.Lease)) // which is over before the second one's
		b.passAll()
		second := b.begins(taking(b.claim()))
		b.passAll()
		if r := b.finds(b.claim(), engine.Unknown); r.Fence != second.Fence {
			b.errorf("the fence is %d, want %d", r.Fence, second.Fence)
		}
		b.begins(taking(b.claim()))
	}},
	{"takeover", "a claim that was taken over can neither renew nor settle", func(b *bench) {
		first, second := b.claim(), taking(b.claim())
		b.begins(first)
		b.passAll()
		b.begins(second)
		was := b.is(second, engine.Running)
		b.unkept(first)
		b.settles(settled(first, engine.Done), engine.NotYours)
		b.finds(resent(first), engine.Running)
		b.unchanged(was)
	}},
	{"takeover", "a repeated takeover is granted with the same fence", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := taking(b.claim())
		first := b.begins(c)
		if r := b.begins(resent(c)); !same(r, first) {
			b.errorf("the grant went from %s to %s", text(first), text(r))
		}
	}},
}
