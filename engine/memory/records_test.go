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
// maps. It is an internal test: two keys with one tag cannot be found from outside, and a
// wrong schedule shows only as memory that is freed late.
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
			if why := m.wrong(); why != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, why)
			}
		}
	}
}

// modelled is records with a model of them.
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
		m.keepFor(r)
	case r == nil:
	case growing && m.random.IntN(3) > 0:
		m.keepFor(r)
	default:
		m.remove(r)
		delete(m.in, key)
	}
	for r := m.expired(m.now); r != nil; r = m.expired(m.now) {
		delete(m.in, string(r.key()))
		m.remove(r)
	}
}

// keepFor schedules r for one of a few retentions.
func (m *modelled) keepFor(r *record) {
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

func (m *modelled) wrong() string {
	waiting := 0
	for i := range m.buckets {
		l := &m.buckets[i]
		waiting += l.n
		switch {
		case l.n == 0 && (l.first != never || len(l.queue) > 0):
			return "an unused bucket is not empty"
		case l.n > 0 && m.due > l.first:
			return "a record expires before the due time"
		case l.n > 0 && l.first != m.at(l.queue[l.head].number).expires:
			return "a lane does not know when its first one ends"
		}
	}
	listed := 0
	for r := range m.all {
		listed++
		if m.in[string(r.key())] != r {
			return "a removed record is listed"
		}
	}
	if n := len(m.in); n != waiting || n != listed || n != m.index.n || n+len(m.spare) != len(m.blocks)*block {
		return fmt.Sprintf("of %d records %d wait, %d are listed, %d counted, and %d are spare of %d",
			n, waiting, listed, m.index.n, len(m.spare), len(m.blocks)*block)
	}
	for _, key := range slices.Sorted(maps.Keys(m.in)) {
		if m.find(key, hashFor(key)) != m.in[key] {
			return key + " is not found"
		}
	}
	for n := range 20 {
		if key := fmt.Sprintf("key %d", 600+n); m.find(key, hashFor(key)) != nil {
			return key + " is found, and never came"
		}
	}
	return ""
}

// TestAll checks that an iteration can be stopped.
func TestAll(t *testing.T) {
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
		t.Errorf("%d were told of, want 3", n)
	}
}

// TestLate checks how late a record behind others is removed: by less than a quarter of
// its retention.
func TestLate(t *testing.T) {
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
			t.Fatalf("%d and %d are told apart by nothing", a, b)
		}
		if c := a + random.Int64N(1<<random.IntN(62)); classOf(a) > classOf(c) {
			t.Fatalf("%d waits with what is kept for longer than %d", a, c)
		}
		if classOf(a) == 0 {
			t.Fatalf("a record with retention %d has no bucket", a)
		}
	}
}

// TestGaps checks that a long-lived record does not keep the slots of removed ones.
func TestGaps(t *testing.T) {
	x := newRecords()
	wait := func(key string) *record {
		r := x.add(key, hashFor(key))
		r.expires = 100
		x.schedule(r, 100)
		return r
	}
	stays := wait("stays")
	for range 10_000 {
		x.remove(wait("goes"))
	}
	if l := x.bucket(stays.bucket); l.n != 1 || cap(l.queue) > block {
		t.Errorf("there are %d places for %d, want a few for one", cap(l.queue), l.n)
	}
	if x.expired(100) != stays {
		t.Error("the wrong record stays")
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
	if n := len(x.buckets); n != 2+maxProbe { // two spans are told apart, and others go aside from the second
		t.Errorf("there are %d lanes", n)
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
		r.text, r.printLen = append(r.text, "print"...), 5
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
		t.Errorf("of %d records there are %d, in %d blocks; the first ends at %d, want %d", len(all), y.index.n, len(y.blocks), y.due, x.due)
	}
	for _, r := range all {
		got := y.find(string(r.key()), uint64(r.tag)<<32)
		if got == nil || got.fence != r.fence || got.expires != r.expires || string(got.fingerprint()) != "print" || y.at(got.number) != got {
			t.Fatalf("of %q there is %+v, was %+v", r.key(), got, r)
		}
	}
	for now := y.due; ; now += 50 {
		was, is := x.expired(now), y.expired(now)
		for ; was != nil && is != nil; was, is = x.expired(now), y.expired(now) {
			if string(was.key()) != string(is.key()) {
				t.Fatalf("%q ends, want %q", is.key(), was.key())
			}
			x.remove(was)
			y.remove(is)
		}
		if was != nil || is != nil {
			t.Fatalf("at %d one of %p and %p ends", now, was, is)
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
			t.Fatalf("claim: %+v, %v", r, err)
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
		t.Errorf("%d are left in %d blocks, found through %d slots", x.index.n, len(x.blocks), len(x.index.slots))
	}
	if r := s.record("key 0", hashFor("key 0"), now); r == nil || string(r.attempt()) != "1" {
		t.Errorf("the one that is left is %+v", r)
	}
}

// TestTexts checks that the text buffer of a deleted record is reused, unless it is large
// or most records are unused.
func TestTexts(t *testing.T) {
	x := newRecords()
	r := x.add("a", hashFor("a"))
	r.text = append(r.text, make([]byte, 200)...)
	x.remove(r)
	again := x.add("b", hashFor("b"))
	if again != r || cap(again.text) < 200 {
		t.Errorf("the room of the one before is not used again: %d bytes", cap(again.text))
	}
	if string(again.text) != "b" || again.attemptLen+again.printLen != 0 {
		t.Errorf("a record begins with what another has left: %q", again.text)
	}
	again.text = append(again.text, make([]byte, maxSpareText)...)
	x.remove(again)
	if again.text != nil {
		t.Errorf("a large text is kept: %d bytes", cap(again.text))
	}

	x.textHint = 10 * maxSpareText
	if large := x.add("c", hashFor("c")); cap(large.text) > 2*maxSpareText {
		t.Errorf("after a large text another is made room for: %d bytes", cap(large.text))
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
		t.Errorf("of %d records that are not used %d have kept their room", len(many), kept)
	}
}
