package memory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// TestRecords adds, removes and reschedules records at random, and compares them with
// maps. It is an internal test: an external test cannot choose two keys with one tag, and
// a wrong schedule shows only as memory that is freed late.
func TestRecords(t *testing.T) {
	for seed := range uint64(12) {
		m := &modelled{records: newRecords(), in: make(map[string]*record), random: rand.New(rand.NewPCG(seed, 1))}
		for step := range 3000 {
			growing := step/700%2 == 0
			if growing {
				m.now += int64(m.random.IntN(3))
			} else {
				m.now += int64(m.random.IntN(40))
			}
			m.step(growing)
			if why := m.mismatch(); why != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, why)
			}
		}
	}
}

// modelled is records with a model: a map of the records that must be there.
type modelled struct {
	records
	in     map[string]*record // by key
	random *rand.Rand
	now    int64
}

func (m *modelled) step(growing bool) {
	key := fmt.Sprintf("key %d", m.random.IntN(600))
	switch r := m.in[key]; {
	case r == nil && (growing || m.random.IntN(4) == 0):
		r = m.add(key, hashFor(key))
		m.in[key] = r
		m.reschedule(r)
	case r == nil:
	case growing && m.random.IntN(3) > 0:
		m.reschedule(r)
	default:
		m.remove(r)
		delete(m.in, key)
	}
	for r := m.expired(m.now); r != nil; r = m.expired(m.now) {
		delete(m.in, string(r.key()))
		m.remove(r)
	}
}

// reschedule schedules r with a random one of a few retentions.
func (m *modelled) reschedule(r *record) {
	span := []int64{10, 11, 100, 300, 5000}[m.random.IntN(5)]
	r.expires = m.now + span
	m.schedule(r, span)
}

// hashFor returns a hash with one of a few tags, so that tags collide. They are near the
// end of the table, so that probing wraps around.
func hashFor(key string) uint64 {
	n := 0
	for _, c := range key {
		n = n*31 + int(c)
	}
	return (0xfffffff0 + uint64(n%40)) << 32 //nolint:gosec // not below zero
}

// mismatch describes how the records differ from their model, or returns "".
func (m *modelled) mismatch() string {
	scheduled := 0
	for i := range m.buckets {
		l := &m.buckets[i]
		scheduled += l.n
		switch {
		case l.n == 0 && (l.first != never || len(l.queue) > 0):
			return "an unused bucket is not empty"
		case l.n > 0 && m.due > l.first:
			return "a record expires before the due time"
		case l.n > 0 && l.first != m.at(l.queue[l.head].number).expires:
			return "the first expiry of a bucket is not that of its first record"
		}
	}
	listed := 0
	for r := range m.all {
		listed++
		if m.in[string(r.key())] != r {
			return "a removed record is listed"
		}
	}
	if n := len(m.in); n != scheduled || n != listed || n != m.index.n || n+len(m.spare) != len(m.blocks)*block {
		return fmt.Sprintf("of %d records %d are scheduled, %d are listed and %d are in the index; %d of %d allocated records are spare",
			n, scheduled, listed, m.index.n, len(m.spare), len(m.blocks)*block)
	}
	for _, key := range slices.Sorted(maps.Keys(m.in)) {
		if m.find(key, hashFor(key)) != m.in[key] {
			return key + " is not found"
		}
	}
	for n := range 20 {
		if key := fmt.Sprintf("key %d", 600+n); m.find(key, hashFor(key)) != nil {
			return key + " is found, and was never added"
		}
	}
	return ""
}

// TestIterationCanStop stops an iteration before the end.
func TestIterationCanStop(t *testing.T) {
	x := newRecords()
	for n := range 10 {
		key := fmt.Sprintf("key %d", n)
		x.add(key, hashFor(key))
	}
	n := 0
	for range x.all {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("the iteration yielded %d records, want 3", n)
	}
}

// TestBucketsBoundLateness checks that a record is removed at most a quarter of its retention late, although
// it is queued behind others: retentions in one bucket differ by at most a quarter.
func TestBucketsBoundLateness(t *testing.T) {
	for span := range int64(8) {
		if classOf(span) != classOf(8) {
			t.Fatalf("a record with retention %d has its own bucket", span)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		a := 8 + random.Int64N(1<<random.IntN(50))
		b := a + random.Int64N(a)
		if classOf(a) == classOf(b) && b-a > a/4 {
			t.Fatalf("retentions %d and %d share a bucket, and differ by more than a quarter", a, b)
		}
		if c := a + random.Int64N(1<<random.IntN(62)); classOf(a) > classOf(c) {
			t.Fatalf("retention %d has a higher bucket than the longer retention %d", a, c)
		}
		if classOf(a) == 0 {
			t.Fatalf("a record with retention %d has no bucket", a)
		}
	}
}

// TestGaps checks that a long-lived record does not keep the slots of removed ones.
func TestGaps(t *testing.T) {
	x := newRecords()
	add := func(key string) *record {
		r := x.add(key, hashFor(key))
		r.expires = 100
		x.schedule(r, 100)
		return r
	}
	stays := add("stays")
	for range 10_000 {
		x.remove(add("removed"))
	}
	if l := x.bucket(stays.bucket); l.n != 1 || cap(l.queue) > block {
		t.Errorf("the bucket has %d slots for %d records, want at most %d slots for 1 record", cap(l.queue), l.n, block)
	}
	if x.expired(100) != stays {
		t.Error("expired does not return the record that stays")
	}
}

// TestMaxProbe checks that records in reverse order of expiry do not get a bucket each.
func TestMaxProbe(t *testing.T) {
	x := newRecords()
	for n := range 1000 {
		r := x.add(fmt.Sprintf("key %d", n), hashFor("key"))
		r.expires = int64(1<<20 - n)
		x.schedule(r, r.expires)
	}
	if n := len(x.buckets); n != 2+maxProbe { // the spans have two buckets, and some records go to lower ones
		t.Errorf("there are %d buckets, want %d", n, 2+maxProbe)
	}
}

// TestPacked checks that compaction keeps records and their order, and leaves few unused
// ones.
func TestPacked(t *testing.T) {
	x, random := newRecords(), rand.New(rand.NewPCG(3, 4))
	var all []*record
	for n := range 20 * shrinkAbove {
		key := fmt.Sprintf("key %d", n)
		r := x.add(key, hashFor(key)+uint64(n)<<36)
		r.text, r.fingerprintLen = append(r.text, "print"...), 5
		span := []int64{100, 5000, 70_000}[n%3]
		r.expires, r.fence = int64(n)+span, uint64(n) //nolint:gosec // not below zero
		x.schedule(r, span)
		all = append(all, r)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for !x.sparse() {
		x.remove(all[0])
		all = all[1:]
	}
	y := x.packed()
	if y.sparse() || len(y.blocks)*block > len(all)+block || y.index.n != len(all) || y.due != x.due {
		t.Errorf("compaction of %d records kept %d, in %d blocks; the first expires at %d, want %d", len(all), y.index.n, len(y.blocks), y.due, x.due)
	}
	for _, r := range all {
		got := y.find(string(r.key()), uint64(r.tag)<<32)
		if got == nil || got.fence != r.fence || got.expires != r.expires || string(got.fingerprint()) != "print" || y.at(got.number) != got {
			t.Fatalf("compaction changed the record of %q to %+v, want %+v", r.key(), got, r)
		}
	}
	for now := y.due; ; now += 50 {
		before, after := x.expired(now), y.expired(now)
		for ; before != nil && after != nil; before, after = x.expired(now), y.expired(now) {
			if string(before.key()) != string(after.key()) {
				t.Fatalf("after compaction %q expires next, want %q", after.key(), before.key())
			}
			x.remove(before)
			y.remove(after)
		}
		if before != nil || after != nil {
			t.Fatalf("at %d a record has expired either before or after compaction, not both: %p, %p", now, before, after)
		}
		if y.index.n == 0 {
			break
		}
	}
}

// TestShrinking checks that a shard returns the memory of many deleted records.
func TestShrinking(t *testing.T) {
	e := New()
	s := &e.shards[0]
	now := e.now()
	claim := func(n int, retain time.Duration) {
		c := engine.Claim{Key: fmt.Sprintf("key %d", n), Attempt: "1", Lease: time.Second, Retain: retain}
		if r, err := s.claim(&c, hashFor(c.Key)+uint64(n)<<36, now); err != nil || !r.Granted { //nolint:gosec // not below zero
			t.Fatalf("claim of %q: %+v, %v; want a grant", c.Key, r, err)
		}
	}
	claim(0, time.Hour)
	for n := range 10 * shrinkAbove {
		claim(n+1, time.Minute)
	}
	for range 10 * shrinkAbove {
		s.sweep(now + int64(2*time.Minute))
	}
	x := &s.store.records
	if x.index.n != 1 || s.n != 1 || len(x.blocks)*block > shrinkAbove || len(x.index.slots) > 2*shrinkAbove {
		t.Errorf("%d records are left in %d blocks and %d index slots, want 1 record and little memory", x.index.n, len(x.blocks), len(x.index.slots))
	}
	if r := s.record("key 0", hashFor("key 0"), now); r == nil || string(r.attempt()) != "1" {
		t.Errorf("the remaining record is %+v, want the one of attempt 1", r)
	}
}

// TestTextBuffersAreReused checks that the text buffer of a deleted record is reused, unless it is large
// or most records are unused.
func TestTextBuffersAreReused(t *testing.T) {
	x := newRecords()
	r := x.add("a", hashFor("a"))
	r.text = append(r.text, make([]byte, 200)...)
	x.remove(r)
	again := x.add("b", hashFor("b"))
	if again != r || cap(again.text) < 200 {
		t.Errorf("the new record has a buffer of %d bytes, want the one of the deleted record", cap(again.text))
	}
	if string(again.text) != "b" || again.attemptLen+again.fingerprintLen != 0 {
		t.Errorf("the text of the new record is %q, want only its key", again.text)
	}
	again.text = append(again.text, make([]byte, maxSpareText)...)
	x.remove(again)
	if again.text != nil {
		t.Errorf("a deleted record keeps a buffer of %d bytes, want none", cap(again.text))
	}

	x.textHint = 10 * maxSpareText
	if large := x.add("c", hashFor("c")); cap(large.text) > 2*maxSpareText {
		t.Errorf("after a large text a new record allocates %d bytes, want at most %d", cap(large.text), 2*maxSpareText)
	}

	many := make([]*record, 10*block)
	for i := range many {
		key := fmt.Sprintf("key %d", i)
		many[i] = x.add(key, hashFor(key))
	}
	for _, r := range many {
		x.remove(r)
	}
	kept := 0
	for _, r := range many {
		if r.text != nil {
			kept++
		}
	}
	if kept == 0 || kept > 7*block {
		t.Errorf("%d of %d deleted records keep their buffers, want 1 to %d", kept, len(many), 7*block)
	}
}
