package enginetest

import "github.com/interlock-go/interlock/engine"

// Settlements: once, and by the holder of the claim only.
var settleLaws = []Law{
	{"settle", "a done outcome refuses new claims", func(b *bench) { b.decides(engine.Done) }},
	{"settle", "a failed outcome refuses new claims", func(b *bench) { b.decides(engine.Failed) }},
	{"settle", "an unknown outcome refuses new claims", func(b *bench) { b.decides(engine.Unknown) }},
	{"settle", "work without a retained outcome may be claimed again", func(b *bench) {
		c := b.claim()
		first := b.begins(c)
		b.settles(settled(c, engine.Absent), engine.Released)
		if r := b.is(c, engine.Absent); !same(r, engine.Record{Key: c.Key, Began: r.Began}) {
			b.errorf("a record that is absent is %s", text(r))
		}
		if r := b.begins(b.claim()); r.Fence <= first.Fence {
			b.errorf("fence %d comes after %d", r.Fence, first.Fence)
		}
	}},
	{"settle", "another attempt cannot settle and changes nothing", func(b *bench) {
		c := b.claim()
		b.begins(c)
		was := b.is(c, engine.Running)
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			b.settles(settled(b.claim(), o), engine.NotYours)
			b.unchanged(was)
		}
		b.settles(settled(c, engine.Done), engine.Released)
	}},
	{"settle", "another attempt cannot settle a settled claim", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			b.settles(settled(b.claimOf(o.String()), engine.Absent), engine.NotYours)
			b.settles(settled(b.claimOf(o.String()), engine.Failed), engine.NotYours)
			b.unchanged(was)
		}
	}},
	{"settle", "another attempt cannot settle an expired claim", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := b.claim()
		was := b.is(c, engine.Unknown)
		b.settles(settled(c, engine.Absent), engine.NotYours)
		b.unchanged(was)
	}},
	{"settle", "a settlement without a claim finds nothing", func(b *bench) {
		c := b.claim()
		b.settles(settled(c, engine.Done), engine.AlreadyFree)
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"settle", "an expired claim cannot be settled and stays unknown", func(b *bench) {
		cs := make(map[engine.State]engine.Claim)
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			cs[o] = short(b, b.claimOf(o.String()))
			b.begins(cs[o])
		}
		b.pass(b.Lease / 2)
		for o, c := range cs {
			was := b.is(c, engine.Unknown)
			b.settles(settled(c, o), engine.AlreadyFree)
			b.settles(settled(c, o), engine.AlreadyFree)
			b.unchanged(was)
		}
	}},
	{"settle", "an expired claim without retention cannot be settled and stays absent", func(b *bench) {
		c := retaining(b.claim(), 0)
		b.begins(c)
		b.passAll()
		b.settles(settled(c, engine.Done), engine.AlreadyFree)
		b.is(c, engine.Absent)
	}},
	{"settle", "a late settle does not change the new claim", func(b *bench) {
		c, d := retaining(b.claim(), 0), b.claim()
		b.begins(c)
		b.passAll()
		b.begins(d)
		was := b.is(d, engine.Running)
		b.settles(settled(c, engine.Done), engine.NotYours)
		b.unchanged(was)
		b.settles(settled(d, engine.Failed), engine.Released)
		b.settles(settled(c, engine.Done), engine.NotYours)
		b.is(d, engine.Failed)
	}},
	{"settle", "a settlement repeated has the same answer and changes nothing", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			longer := settled(c, o)
			longer.Retain *= 2
			b.settles(longer, engine.Released)
			b.unchanged(was)
		}
	}},
	{"settle", "the first settlement counts", func(b *bench) {
		all := []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent}
		for _, o := range all[:3] {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			for _, other := range all {
				s := settled(c, other)
				s.Result = []byte("another result")
				b.settles(s, engine.Released)
				b.unchanged(was)
			}
		}
	}},
	{"settle", "a repeated settlement finds nothing if nothing was retained", func(b *bench) {
		c, d := b.claim(), b.claim()
		b.begins(c)
		b.settles(settled(c, engine.Absent), engine.Released)
		b.settles(settled(c, engine.Absent), engine.AlreadyFree)
		b.settles(settled(c, engine.Done), engine.AlreadyFree)
		b.is(c, engine.Absent)
		b.begins(d)
		b.settles(settled(c, engine.Absent), engine.NotYours)
		b.is(d, engine.Running)
	}},
	{"settle", "of concurrent settlements of one claim the first counts", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.together(20, func(i int) {
			s := settled(c, []engine.State{engine.Done, engine.Failed}[i%2])
			s.Result = []byte(s.Outcome.String())
			if o, err := b.ledger().Settle(b.ctx, s); err != nil || o != engine.Released {
				b.errorf("settle: %v, error %v; want %v", o, err, engine.Released)
			}
		})
		if r := b.lookup(c.Key); string(r.Result) != r.State.String() {
			b.errorf("the record is %s with the result %q, want that of one", text(r), r.Result)
		}
	}},
}

// short is c, with a lease that is over soon.
func short(b *bench, c engine.Claim) engine.Claim {
	c.Lease = b.Lease / 10
	return c
}

// decides demands that work of that outcome is known by it, and not claimed again.
func (b *bench) decides(o engine.State) {
	c := about(b.claim(), "this")
	first := b.begins(c)
	b.settles(settled(c, o), engine.Released)
	want := first
	want.State, want.Result = o, []byte("the result")
	if o == engine.Unknown {
		want.Result = nil
	}
	for _, r := range []engine.Record{b.finds(b.claim(), o), b.is(c, o), b.finds(resent(c), o)} {
		if !same(r, want) || r.Left <= 40*b.Lease || r.Left > 50*b.Lease {
			b.errorf("the record is %s, want %s", text(r), text(want))
		}
	}
}
