package enginetest

import (
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// Lookups and lists of records.
var recordLaws = []Law{
	{"record", "a record reports the age of its claim in every state", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.sleepMostOfLease()
		running := []engine.Record{b.claimFinds(b.claim(), engine.Running), b.recordIs(c, engine.Running)}
		b.settles(settlement(c, engine.Done), engine.Released)
		for _, r := range append(running, b.claimFinds(b.claim(), engine.Done), b.recordIs(c, engine.Done)) {
			if r.Age < b.Lease*6/10 || r.Age > b.Lease {
				b.errorf("the age of %s is %v, want most of %v", describe(r), r.Age, b.Lease)
			}
		}
	}},
	{"record", "an unknown key is absent", func(b *testbed) {
		c := b.claim()
		if r := b.recordIs(c, engine.Absent); !same(r, engine.Record{Key: c.Key, Began: r.Began}) || r.Left != 0 {
			b.errorf("the record of an unused key is %s, want only the key set", describe(r))
		}
		b.claimGranted(c)
	}},
	{"record", "a lookup returns the record that the grant returned", func(b *testbed) {
		first := b.claimGranted(withFingerprint(b.claim(), "this"))
		if r := b.lookup(first.Key); !same(r, first) || r.Granted || r.Left <= 0 || r.Left > b.Lease {
			b.errorf("granted %s, but the lookup returned %s", describe(first), describe(r))
		}
	}},
	{"record", "a lookup changes nothing", func(b *testbed) {
		c := withRetain(b.claim(), 2*b.Lease)
		b.claimGranted(c)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Running)
		b.listedRecord(c.Key)
		b.sleepMostOfLease()
		b.recordIs(c, engine.Unknown)
		b.listedRecord(c.Key)
		b.sleep(b.Lease)
		b.recordIs(c, engine.Absent)
	}},
	{"record", "records in every state are listed", func(b *testbed) {
		for state, c := range b.claimInEachState() {
			was := b.recordIs(c, state)
			was.Result = nil
			if r := b.listedRecord(c.Key); !same(r, was) || r.Granted || r.Left > was.Left || r.Left <= 0 {
				b.errorf("%s is listed as %s", describe(was), describe(r))
			}
		}
	}},
	{"record", "records are listed without their results", func(b *testbed) {
		c := b.claim()
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		if r := b.listedRecord(c.Key); r.State != engine.Done || len(r.Result) > 0 {
			b.errorf("the record is listed as %s, want it done and without a result", describe(r))
		}
		if r := b.recordIs(c, engine.Done); len(r.Result) == 0 {
			b.errorf("the result is gone from the record, too")
		}
	}},
	{"record", "records are listed by pattern", func(b *testbed) {
		for _, name := range []string{"order:1", "order:2", "other:1", "order*"} {
			b.claimGranted(b.claimOf(name))
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
	{"record", "records are listed over many pages", func(b *testbed) {
		b.ignoringTime(func() {
			const many = 300
			for i := range many {
				c := b.claimOf(fmt.Sprint("n", i))
				c.Lease *= 50
				b.claimGranted(c)
			}
			if n := len(b.listRecords(b.prefix + "*")); n != many {
				b.errorf("%d of %d records are listed", n, many)
			}
		})
	}},
	{"record", "expired records are not listed", func(b *testbed) {
		withdrawn, doneBriefly, unretained := b.claimOf("withdrawn"), b.claimOf("done"), withRetain(b.claimOf("unretained"), 0)
		for _, c := range []engine.Claim{withdrawn, doneBriefly, unretained} {
			b.claimGranted(c)
		}
		b.settles(settlement(withdrawn, engine.Absent), engine.Released)
		b.settles(retainedFor(settlement(doneBriefly, engine.Done), b.Lease/10), engine.Released)
		b.sleepPastLease()
		if seen := b.listRecords(b.prefix + "*"); len(seen) > 0 {
			b.errorf("List returned %v, want nothing", seen)
		}
	}},
	{"record", "locks are not among the records", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		if seen := b.listRecords(b.prefix + "*"); len(seen) > 0 {
			b.errorf("List returned %v, want nothing", seen)
		}
		b.recordIs(engine.Claim{Key: a.Key}, engine.Absent)
	}},
	{"record", "records are not among the locks", func(b *testbed) {
		i := b.inspector()
		for _, c := range b.claimInEachState() {
			for _, key := range []string{c.Key, b.prefix + "*"} {
				locks, _, err := i.List(b.ctx, key, "")
				if err != nil || len(locks) > 0 {
					b.errorf("%q lists %+v, error %v; want no locks", key, locks, err)
				}
			}
			if l := b.inspect(c.Key); len(l.Holders) > 0 || len(l.Waiters) > 0 {
				b.errorf("a record is inspected as %+v", l)
			}
		}
	}},
	{"record", "a forced release does not touch the record of the same key", func(b *testbed) {
		c := b.claim()
		i := b.inspector()
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		if _, err := i.ForceRelease(b.ctx, c.Key); err != nil {
			b.errorf("force-release: %v", err)
		}
		b.recordIs(c, engine.Done)
	}},
	{"record", "a lock and a record of the same key are independent", func(b *testbed) {
		a, c := b.ask(ann), b.claim()
		a.Attempt = c.Attempt
		b.granted(a)
		b.claimGranted(c)
		b.heldBy(a)
		b.releases(a, engine.Released)
		b.recordIs(c, engine.Running)
		b.granted(a)
		b.settles(settlement(c, engine.Done), engine.Released)
		b.heldBy(a)
		b.renewed(a)
		b.settles(abandonment(b.claim()), engine.NotYours)
		b.abandons(a, engine.Released)
		b.recordIs(c, engine.Done)
	}},
	{"record", "abandoning a lock attempt does not refuse a claim of the same key and attempt, nor the reverse", func(b *testbed) {
		a, c := b.askFor("one", ann), b.claimOf("one")
		c.Attempt = a.Attempt
		b.abandons(a, engine.AlreadyFree)
		b.claimGranted(asClaimRetry(c))
		r, d := b.askFor("two", ann), b.claimOf("two")
		r.Attempt = d.Attempt
		b.settles(abandonment(d), engine.AlreadyFree)
		b.granted(asRetry(r))
	}},
	{"record", "unusual keys have valid records", func(b *testbed) {
		b.ignoringTime(func() {
			cs := make([]engine.Claim, len(oddKeys))
			for i, key := range oddKeys {
				cs[i] = b.claimOf(key)
				cs[i].Lease *= 50
				b.claimGranted(cs[i])
			}
			for i, c := range cs {
				b.claimFinds(b.claimOf(oddKeys[i]), engine.Running)
				s := settlement(c, engine.Done)
				s.Result = []byte(c.Key)
				b.settles(s, engine.Released)
			}
			seen := b.listRecords(b.prefix + "*")
			for _, c := range cs {
				if r := b.recordIs(c, engine.Done); string(r.Result) != c.Key || seen[c.Key].State != engine.Done {
					b.errorf("%q has the result %q and is listed as %s", c.Key, r.Result, describe(seen[c.Key]))
				}
			}
		})
	}},
	{"record", "similar keys have separate records", func(b *testbed) {
		for _, name := range []string{"key", "Key", "key ", " key", "key:", "k\u0435y", "key\x00", "kéy", "ke\u0301y"} {
			b.claimGranted(b.claimOf(name))
		}
	}},
}

// claimInEachState returns a claim for each state of a record. The claim in the state
// Unknown has expired.
func (b *testbed) claimInEachState() map[engine.State]engine.Claim {
	all := make(map[engine.State]engine.Claim)
	for _, state := range []engine.State{engine.Running, engine.Done, engine.Failed, engine.Unknown} {
		c := b.claimOf(state.String())
		all[state] = c
		switch state {
		case engine.Running:
			c.Lease *= 50
			b.claimGranted(c)
		case engine.Unknown:
			b.claimGranted(withShortLease(b, c))
			b.sleep(b.Lease / 2)
		default:
			b.claimGranted(c)
			b.settles(settlement(c, state), engine.Released)
		}
	}
	return all
}

// listRecords returns all records whose keys match pattern, by key.
func (b *testbed) listRecords(pattern string) map[string]engine.Record {
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

// listedRecord requires that the record at key is listed.
func (b *testbed) listedRecord(key string) engine.Record {
	r, ok := b.listRecords(b.prefix + "*")[key]
	if !ok {
		b.fatalf("%q is not listed", key)
	}
	return r
}
