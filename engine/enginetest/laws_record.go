package enginetest

import (
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// Lookups and lists of records.
var recordLaws = []Law{
	{"record", "a record reports the age of its claim in every state", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.passMost()
		running := []engine.Record{b.finds(b.claim(), engine.Running), b.is(c, engine.Running)}
		b.settles(settled(c, engine.Done), engine.Released)
		for _, r := range append(running, b.finds(b.claim(), engine.Done), b.is(c, engine.Done)) {
			if r.Age < b.Lease*6/10 || r.Age > b.Lease {
				b.errorf("%s was granted %v ago, want most of %v", text(r), r.Age, b.Lease)
			}
		}
	}},
	{"record", "an unknown key is absent", func(b *bench) {
		c := b.claim()
		if r := b.is(c, engine.Absent); !same(r, engine.Record{Key: c.Key, Began: r.Began}) || r.Left != 0 {
			b.errorf("a record that is absent is %s", text(r))
		}
		b.begins(c)
	}},
	{"record", "a record is looked up as it was granted", func(b *bench) {
		first := b.begins(about(b.claim(), "this"))
		if r := b.lookup(first.Key); !same(r, first) || r.Granted || r.Left <= 0 || r.Left > b.Lease {
			b.errorf("%s is looked up as %s", text(first), text(r))
		}
	}},
	{"record", "a lookup changes nothing", func(b *bench) {
		c := retaining(b.claim(), 2*b.Lease)
		b.begins(c)
		b.passMost()
		b.is(c, engine.Running)
		b.listedRecord(c.Key)
		b.passMost()
		b.is(c, engine.Unknown)
		b.listedRecord(c.Key)
		b.pass(b.Lease)
		b.is(c, engine.Absent)
	}},
	{"record", "records in every state are listed", func(b *bench) {
		for state, c := range b.oneOfEach() {
			was := b.is(c, state)
			was.Result = nil
			if r := b.listedRecord(c.Key); !same(r, was) || r.Granted || r.Left > was.Left || r.Left <= 0 {
				b.errorf("%s is listed as %s", text(was), text(r))
			}
		}
	}},
	{"record", "records are listed without their results", func(b *bench) {
		c := b.claim()
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		if r := b.listedRecord(c.Key); r.State != engine.Done || len(r.Result) > 0 {
			b.errorf("it is listed as %s", text(r))
		}
		if r := b.is(c, engine.Done); len(r.Result) == 0 {
			b.errorf("the result is gone from the record, too")
		}
	}},
	{"record", "records are listed by pattern", func(b *bench) {
		for _, name := range []string{"order:1", "order:2", "other:1", "order*"} {
			b.begins(b.claimOf(name))
		}
		for pattern, want := range map[string][]string{
			"order:*": {"order:1", "order:2"}, "o?der:1": {"order:1"}, "*:1": {"order:1", "other:1"},
			`order\*`: {"order*"}, "order": nil, "other:1": {"other:1"},
		} {
			var got []string
			for key := range b.listRecords(b.prefix + pattern) {
				got = append(got, key[len(b.prefix):])
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				b.errorf("%q lists %q, want %q", pattern, got, want)
			}
		}
	}},
	{"record", "records are listed over many pages", func(b *bench) {
		b.patiently(func() {
			const many = 300
			for i := range many {
				c := b.claimOf(fmt.Sprint("n", i))
				c.Lease *= 50
				b.begins(c)
			}
			if n := len(b.listRecords(b.prefix + "*")); n != many {
				b.errorf("%d of %d records are listed", n, many)
			}
		})
	}},
	{"record", "expired records are not listed", func(b *bench) {
		gone, over, dead := b.claimOf("gone"), b.claimOf("over"), retaining(b.claimOf("dead"), 0)
		for _, c := range []engine.Claim{gone, over, dead} {
			b.begins(c)
		}
		b.settles(settled(gone, engine.Absent), engine.Released)
		b.settles(keptFor(settled(over, engine.Done), b.Lease/10), engine.Released)
		b.passAll()
		if seen := b.listRecords(b.prefix + "*"); len(seen) > 0 {
			b.errorf("it lists %v", seen)
		}
	}},
	{"record", "locks are not among the records", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		if seen := b.listRecords(b.prefix + "*"); len(seen) > 0 {
			b.errorf("it lists %v", seen)
		}
		b.is(engine.Claim{Key: a.Key}, engine.Absent)
	}},
	{"record", "records are not among the locks", func(b *bench) {
		i := b.inspector()
		for _, c := range b.oneOfEach() {
			for _, key := range []string{c.Key, b.prefix + "*"} {
				locks, _, err := i.List(b.ctx, key, "")
				if err != nil || len(locks) > 0 {
					b.errorf("%q lists %+v, error %v; want no locks", key, locks, err)
				}
			}
			if l := b.inspect(c.Key); len(l.Holders) > 0 || len(l.Waiters) > 0 {
				b.errorf("a record is seen as %+v", l)
			}
		}
	}},
	{"record", "a forced release does not touch the record of the same key", func(b *bench) {
		c := b.claim()
		i := b.inspector()
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		if _, err := i.ForceRelease(b.ctx, c.Key); err != nil {
			b.errorf("seize: %v", err)
		}
		b.is(c, engine.Done)
	}},
	{"record", "a lock and a record of the same key are independent", func(b *bench) {
		a, c := b.ask(ann), b.claim()
		a.Attempt = c.Attempt
		b.granted(a)
		b.begins(c)
		b.held(a)
		b.leaves(a, engine.Released)
		b.is(c, engine.Running)
		b.granted(a)
		b.settles(settled(c, engine.Done), engine.Released)
		b.held(a)
		b.renewed(a)
		b.settles(undone(b.claim()), engine.NotYours)
		b.abandons(a, engine.Released)
		b.is(c, engine.Done)
	}},
	{"record", "tombstones of a hold and a claim of the same key are independent", func(b *bench) {
		a, c := b.askFor("one", ann), b.claimOf("one")
		c.Attempt = a.Attempt
		b.abandons(a, engine.AlreadyFree)
		b.begins(resent(c))
		r, d := b.askFor("two", ann), b.claimOf("two")
		r.Attempt = d.Attempt
		b.settles(undone(d), engine.AlreadyFree)
		b.granted(again(r))
	}},
	{"record", "unusual keys have valid records", func(b *bench) {
		b.patiently(func() {
			cs := make([]engine.Claim, len(oddKeys))
			for i, key := range oddKeys {
				cs[i] = b.claimOf(key)
				cs[i].Lease *= 50
				b.begins(cs[i])
			}
			for i, c := range cs {
				b.finds(b.claimOf(oddKeys[i]), engine.Running)
				s := settled(c, engine.Done)
				s.Result = []byte(c.Key)
				b.settles(s, engine.Released)
			}
			seen := b.listRecords(b.prefix + "*")
			for _, c := range cs {
				if r := b.is(c, engine.Done); string(r.Result) != c.Key || seen[c.Key].State != engine.Done {
					b.errorf("%q has the result %q and is listed as %s", c.Key, r.Result, text(seen[c.Key]))
				}
			}
		})
	}},
	{"record", "similar keys have separate records", func(b *bench) {
		for _, name := range []string{"key", "Key", "key ", " key", "key:", "k\u0435y", "key\x00", "kéy", "ke\u0301y"} {
			b.begins(b.claimOf(name))
		}
	}},
}

// oneOfEach is a claim for each state that a record can be in. The one that ran
// out is among those that are unknown.
func (b *bench) oneOfEach() map[engine.State]engine.Claim {
	all := make(map[engine.State]engine.Claim)
	for _, state := range []engine.State{engine.Running, engine.Done, engine.Failed, engine.Unknown} {
		c := b.claimOf(state.String())
		all[state] = c
		switch state {
		case engine.Running:
			c.Lease *= 50
			b.begins(c)
		case engine.Unknown:
			b.begins(short(b, c))
			b.pass(b.Lease / 2)
		default:
			b.begins(c)
			b.settles(settled(c, state), engine.Released)
		}
	}
	return all
}

// listRecords is all records whose keys match pattern.
func (b *bench) listRecords(pattern string) map[string]engine.Record {
	found := make(map[string]engine.Record)
	for cursor, pages := "", 0; ; pages++ {
		records, next, err := b.ledger().List(b.ctx, pattern, cursor)
		if err != nil || pages > 10_000 {
			b.fatalf("list: page %d, error %v", pages, err)
		}
		for _, r := range records {
			found[r.Key] = r
		}
		if cursor = next; cursor == "" {
			return found
		}
	}
}

// listedRecord demands that the record at key is listed.
func (b *bench) listedRecord(key string) engine.Record {
	r, ok := b.listRecords(b.prefix + "*")[key]
	if !ok {
		b.fatalf("%q is not listed", key)
	}
	return r
}
