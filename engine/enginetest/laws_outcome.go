package enginetest

import (
	"bytes"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Outcomes and their retention.
var outcomeLaws = []Law{
	{"outcome", "a result is kept byte for byte", func(b *bench) {
		b.patiently(func() {
			large := bytes.Repeat([]byte{0, 1, 0xff, '\r', '\n', 'x', 0x80, 7}, 1<<17)
			for _, result := range [][]byte{nil, {}, {0}, []byte("nil"), []byte("订单 \xff\xfe\x00\r\n"), large} {
				c := b.claim()
				c.Lease *= 50
				b.begins(c)
				s := settled(c, engine.Done)
				s.Result, s.Retain = result, 50*b.Lease
				b.settles(s, engine.Released)
				for _, r := range []engine.Record{b.finds(b.claim(), engine.Done), b.is(c, engine.Done)} {
					if !bytes.Equal(r.Result, result) {
						b.fatalf("of %d bytes came back %d, or others", len(result), len(r.Result))
					}
				}
				b.prefix += "next:"
			}
		})
	}},
	{"outcome", "a result belongs to its record alone", func(b *bench) {
		c := b.claim()
		b.begins(c)
		s := settled(c, engine.Done)
		s.Result = append(make([]byte, 0, 1<<10), s.Result...) // in a buffer that is used again
		b.settles(s, engine.Released)
		copy(s.Result[:cap(s.Result)], bytes.Repeat([]byte{'X'}, 1<<10))
		b.finds(b.claim(), engine.Done).Result[1] = 'X'
		b.is(c, engine.Done).Result[2] = 'X'
		if r := b.is(c, engine.Done); string(r.Result) != "the result" {
			b.errorf("the result became %q", r.Result)
		}
	}},
	{"outcome", "an outcome outlasts the lease of its claim", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			c := retaining(b.claimOf(o.String()), 0)
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
		}
		b.pass(2 * b.Lease)
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown} {
			b.finds(b.claimOf(o.String()), o)
		}
	}},
	{"outcome", "an outcome is retained from its settlement", func(b *bench) {
		c := retaining(b.claim(), b.Lease)
		b.begins(c)
		b.passMost()
		b.settles(keptFor(settled(c, engine.Done), b.Lease), engine.Released)
		b.passMost()
		b.finds(b.claim(), engine.Done)
		b.passMost()
		b.is(c, engine.Absent)
	}},
	{"outcome", "an outcome expires", func(b *bench) {
		outcomes := []engine.State{engine.Done, engine.Failed, engine.Unknown}
		for _, o := range outcomes {
			c := b.claimOf(o.String())
			b.begins(c)
			b.settles(keptFor(settled(c, o), b.Lease), engine.Released)
		}
		b.passAll()
		for _, o := range outcomes {
			b.is(b.claimOf(o.String()), engine.Absent)
			b.begins(about(b.claimOf(o.String()), "something else"))
		}
	}},
	{"outcome", "an outcome reports how long it is retained", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(keptFor(settled(c, engine.Done), b.Lease), engine.Released)
		if r := b.is(c, engine.Done); r.Left > b.Lease || r.Left < b.Lease*8/10 {
			b.errorf("%v are left of %v", r.Left, b.Lease)
		}
		b.passMost()
		if r := b.finds(b.claim(), engine.Done); r.Left <= 0 || r.Left > b.Lease/2 {
			b.errorf("%v are left of %v, of which most is over", r.Left, b.Lease)
		}
	}},
	{"outcome", "a claim that finds an outcome does not extend its retention", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(keptFor(settled(c, engine.Done), b.Lease), engine.Released)
		b.passMost()
		b.finds(b.claim(), engine.Done)
		b.finds(resent(c), engine.Done)
		b.is(c, engine.Done)
		b.passMost()
		b.is(c, engine.Absent)
	}},
	{"outcome", "an outcome may be retained from the start of the work", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.settles(fromStart(settled(c, engine.Done), b.Lease), engine.Released)
		if r := b.finds(b.claim(), engine.Done); r.Left > b.Lease/2 {
			b.errorf("%v are left, want what is left of a lease of which most is over", r.Left)
		}
		b.passMost()
		b.is(c, engine.Absent)
	}},
	{"outcome", "renewals do not change when the work began", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.keeps(c)
		b.begins(resent(c))
		b.settles(fromStart(settled(c, engine.Failed), b.Lease), engine.Released)
		b.finds(b.claim(), engine.Failed)
		b.passMost()
		b.is(c, engine.Absent)
	}},
	{"outcome", "an outcome whose retention has passed is not stored", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		b.settles(fromStart(settled(c, engine.Done), b.Lease/2), engine.Released)
		b.is(c, engine.Absent)
		b.begins(about(b.claim(), "something else"))
	}},
	{"outcome", "a claim that takes over restarts the work", func(b *bench) {
		b.begins(b.claim())
		b.passAll()
		c := taking(b.claim())
		b.begins(c)
		b.settles(fromStart(settled(c, engine.Done), b.Lease), engine.Released)
		b.finds(b.claim(), engine.Done)
	}},
	{"outcome", "an expired outcome leaves its key to new claims", func(b *bench) {
		c, d := b.claim(), b.claim()
		first := b.begins(c)
		b.settles(keptFor(settled(c, engine.Done), b.Lease/10), engine.Released)
		b.pass(b.Lease / 2)
		if r := b.begins(d); r.Fence <= first.Fence || len(r.Result) > 0 {
			b.errorf("%s comes after %s", text(r), text(first))
		}
		b.settles(settled(c, engine.Failed), engine.NotYours)
		b.is(d, engine.Running)
	}},
}

// keptFor is s, kept for so long.
func keptFor(s engine.Settlement, d time.Duration) engine.Settlement {
	s.Retain = d
	return s
}

// fromStart is s, kept for so long from when the work began.
func fromStart(s engine.Settlement, d time.Duration) engine.Settlement {
	s.Retain, s.FromStart = d, true
	return s
}
