package enginetest

import "github.com/interlock-go/interlock/engine"

// Clean-up of a claim that may have been granted and whose work was not begun.
var disclaimLaws = []Law{
	{"abandon-claim", "an abandoned claim leaves no record", func(b *bench) {
		c := about(b.claim(), "this")
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Absent)
		b.begins(about(b.claim(), "that"))
	}},
	{"abandon-claim", "a claim abandoned after its lease expired is undone", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passAll()
		b.is(c, engine.Unknown)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"abandon-claim", "a claim that is abandoned before it arrives is refused", func(b *bench) {
		c := b.claim()
		b.settles(undone(c), engine.AlreadyFree)
		b.claimRefused(resent(c), engine.ErrAbandoned)
		b.is(c, engine.Absent)
		b.begins(b.claim())
	}},
	{"abandon-claim", "without LateGrant an abandoned claim is refused even if it is not marked as a retry", func(b *bench) {
		c := b.claim()
		if p := b.Capabilities().LateGrant; p > 0 {
			b.skip("the engine declares a patience of " + p.String())
		}
		b.settles(undone(c), engine.AlreadyFree)
		b.claimRefused(c, engine.ErrAbandoned)
		b.is(c, engine.Absent)
	}},
	{"abandon-claim", "a claim that is abandoned after it was granted is refused when repeated", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.claimRefused(resent(c), engine.ErrAbandoned)
		b.claimRefused(resent(taking(c)), engine.ErrAbandoned)
		b.is(c, engine.Absent)
	}},
	{"abandon-claim", "an abandoned claim stays refused for its lease", func(b *bench) {
		c := b.claim()
		b.settles(undone(c), engine.AlreadyFree)
		b.passMost()
		b.claimRefused(resent(c), engine.ErrAbandoned)
	}},
	{"abandon-claim", "a tombstone of a claim expires after its lease", func(b *bench) {
		c := b.claim()
		b.settles(undone(c), engine.AlreadyFree)
		b.pass(2 * b.Lease)
		b.begins(resent(c))
	}},
	{"abandon-claim", "abandoning a claim twice lasts from the second time", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.passMost()
		b.settles(undone(c), engine.AlreadyFree)
		b.passMost()
		b.claimRefused(resent(c), engine.ErrAbandoned)
	}},
	{"abandon-claim", "abandoning a claim does not touch that of another", func(b *bench) {
		c, d := b.claim(), b.claim()
		b.begins(c)
		was := b.is(c, engine.Running)
		b.settles(undone(d), engine.NotYours)
		b.unchanged(was)
		b.claimRefused(resent(d), engine.ErrAbandoned)
		b.keeps(c)
	}},
	{"abandon-claim", "abandoning a claim does not change an unknown outcome of another", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := b.claim()
		was := b.is(c, engine.Unknown)
		b.settles(undone(c), engine.NotYours)
		b.unchanged(was)
	}},
	{"abandon-claim", "a late abandon of a claim does not change the new claim", func(b *bench) {
		c, d := retaining(b.claim(), 0), b.claim()
		b.begins(c)
		b.passAll()
		b.begins(d)
		was := b.is(d, engine.Running)
		b.settles(undone(c), engine.NotYours)
		b.unchanged(was)
	}},
	{"abandon-claim", "abandoning a claim does not undo a settled outcome", func(b *bench) {
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
	{"abandon-claim", "abandoning a claim that took over leaves the outcome unknown", func(b *bench) {
		b.begins(about(b.claim(), "this"))
		b.passAll()
		c := taking(b.claim())
		taken := b.begins(c)
		b.settles(undone(c), engine.Released)
		b.settles(undone(c), engine.Released)
		if r := b.finds(b.claim(), engine.Unknown); r.Fence < taken.Fence || r.Fingerprint != "this" {
			b.errorf("the record is %s, want that of %s", text(r), text(taken))
		}
		b.claimRefused(resent(c), engine.ErrAbandoned)
		if r := b.begins(taking(b.claim())); r.Fence <= taken.Fence {
			b.errorf("fence %d comes after %d", r.Fence, taken.Fence)
		}
	}},
	{"abandon-claim", "abandoning an expired claim that took over leaves the outcome unknown", func(b *bench) {
		b.begins(short(b, b.claim()))
		b.pass(b.Lease / 4)
		c := short(b, taking(b.claim()))
		b.begins(c)
		b.pass(b.Lease / 4)
		b.settles(undone(c), engine.Released)
		b.finds(b.claim(), engine.Unknown)
	}},
	{"abandon-claim", "an outcome left unknown is retained as long as the claim that took over asked", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := retaining(taking(b.claim()), b.Lease)
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Unknown)
		b.passAll()
		b.is(c, engine.Absent)
	}},
	{"abandon-claim", "abandoning a claim that took over and retains nothing leaves nothing", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := retaining(taking(b.claim()), 0)
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.is(c, engine.Absent)
	}},
	{"abandon-claim", "an abandoned claim can neither be renewed nor settled", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.unkept(c)
		b.settles(settled(c, engine.Done), engine.AlreadyFree)
		b.is(c, engine.Absent)
	}},
	{"abandon-claim", "an abandoned claim does not affect its attempt at another key", func(b *bench) {
		c, d := b.claimOf("one"), b.claimOf("two")
		d.Attempt = c.Attempt
		b.settles(undone(c), engine.AlreadyFree)
		b.begins(resent(d))
	}},
	{"abandon-claim", "an abandoned claim does not affect another attempt at its key", func(b *bench) {
		b.settles(undone(b.claim()), engine.AlreadyFree)
		b.begins(resent(b.claim()))
	}},
}
