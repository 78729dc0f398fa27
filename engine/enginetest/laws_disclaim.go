package enginetest

import "github.com/interlock-go/interlock/engine"

// How a claim that may have been granted, and for which nothing was begun, is
// undone.
var disclaimLaws = []Law{
	{"disclaim", "a claim that is abandoned is undone with all its traces", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Absent)
		b.begins(about(b.claim(), "that"))
	}},
	{"disclaim", "a claim that is abandoned after its lease ran out is undone", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passAll()
		b.is(c, engine.Unknown)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"disclaim", "a claim that is abandoned before it arrives is refused", func(b *bench) {
		c := b.claim()
		b.settles(undone(c), engine.AlreadyFree)
		b.disclaimed(resent(c), engine.ErrAbandoned)
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"disclaim", "without patience an abandoned claim is refused even if it does not say it is repeated", func(b *bench) {
		c := b.claim()
		if p := b.Capabilities().LateGrant; p > 0 {
			b.skip("the engine declares a patience of " + p.String())
		}
		b.settles(undone(c), engine.AlreadyFree)
		b.disclaimed(c, engine.ErrAbandoned)
		b.is(c, engine.Absent)
	}},
	{"disclaim", "a claim that is abandoned after it was granted is refused when repeated", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.disclaimed(resent(c), engine.ErrAbandoned)
		b.disclaimed(resent(taking(c)), engine.ErrAbandoned)
		b.is(c, engine.Absent)
	}},
	{"disclaim", "an abandoned claim stays refused for its lease", func(b *bench) {
		c := b.claim()
		b.settles(undone(c), engine.AlreadyFree)
		b.passMost()
		b.disclaimed(resent(c), engine.ErrAbandoned)
	}},
	{"disclaim", "an abandoned claim is forgotten after its lease", func(b *bench) {
		c := b.claim()
		b.settles(undone(c), engine.AlreadyFree)
		b.pass(2 * b.Lease)
		b.begins(resent(c))
	}},
	{"disclaim", "abandoning a claim twice lasts from the second time", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.passMost()
		b.settles(undone(c), engine.AlreadyFree)
		b.passMost()
		b.disclaimed(resent(c), engine.ErrAbandoned)
	}},
	{"disclaim", "abandoning a claim does not touch that of another", func(b *bench) {
		c, d := b.claim(), b.claim()
		b.begins(c)
		was := b.is(c, engine.Running)
		b.settles(undone(d), engine.NotYours)
		b.unchanged(was)
		b.disclaimed(resent(d), engine.ErrAbandoned)
		b.keeps(c)
	}},
	{"disclaim", "abandoning a claim does not touch what another left unknown", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := b.claim()
		was := b.is(c, engine.Unknown)
		b.settles(undone(c), engine.NotYours)
		b.unchanged(was)
	}},
	{"disclaim", "abandoning a claim too late does not disturb who came after", func(b *bench) {
		c, d := retaining(b.claim(), 0), b.claim()
		b.begins(c)
		b.passAll()
		b.begins(d)
		was := b.is(d, engine.Running)
		b.settles(undone(c), engine.NotYours)
		b.unchanged(was)
	}},
	{"disclaim", "abandoning a claim does not undo what was settled", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			was := b.is(c, o)
			b.settles(undone(c), engine.Released)
			b.unchanged(was)
			b.settles(undone(b.claimOf(o.String())), engine.NotYours)
			b.unchanged(was)
		}
	}},
	{"disclaim", "abandoning a claim that took over leaves what is unknown", func(b *bench) {
		b.begins(about(b.claim(), "this"))
		b.passAll()
		c := taking(b.claim())
		taken := b.begins(c)
		b.settles(undone(c), engine.Released)
		b.settles(undone(c), engine.Released)
		if r := b.finds(b.claim(), engine.Unknown); r.Fence < taken.Fence || r.Fingerprint != "this" {
			b.errorf("the record is %s, want that of %s", text(r), text(taken))
		}
		b.disclaimed(resent(c), engine.ErrAbandoned)
		if r := b.begins(taking(b.claim())); r.Fence <= taken.Fence {
			b.errorf("fence %d comes after %d", r.Fence, taken.Fence)
		}
	}},
	{"disclaim", "abandoning a claim that took over and ran out leaves what is unknown", func(b *bench) {
		b.begins(short(b, b.claim()))
		b.pass(b.Lease / 4)
		c := short(b, taking(b.claim()))
		b.begins(c)
		b.pass(b.Lease / 4)
		b.settles(undone(c), engine.Released)
		b.finds(b.claim(), engine.Unknown)
	}},
	{"disclaim", "what is left unknown is kept for as long as who took over said", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := retaining(taking(b.claim()), b.Lease)
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Unknown)
		b.passAll()
		b.is(c, engine.Absent)
	}},
	{"disclaim", "abandoning a claim that took over and keeps nothing leaves nothing", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := retaining(taking(b.claim()), 0)
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Absent)
	}},
	{"disclaim", "an abandoned claim can neither be renewed nor settled", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.unkept(c)
		b.settles(settled(c, engine.Done), engine.AlreadyFree)
		b.is(c, engine.Absent)
	}},
	{"disclaim", "an abandoned claim does not hinder its attempt at another key", func(b *bench) {
		c, d := b.claimOf("one"), b.claimOf("two")
		d.Attempt = c.Attempt
		b.settles(undone(c), engine.AlreadyFree)
		b.begins(resent(d))
	}},
	{"disclaim", "an abandoned claim does not hinder another attempt at its key", func(b *bench) {
		b.settles(undone(b.claim()), engine.AlreadyFree)
		b.begins(resent(b.claim()))
	}},
}
