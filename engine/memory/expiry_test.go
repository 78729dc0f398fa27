package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestExpiry adds, removes and moves entries at random, and checks the whole heap after
// each step. It is an internal test: from outside, a wrong order shows only as memory
// that is freed late.
func TestExpiry(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var x expiry
		var entries []*entry
		for step := range 2000 {
			growing := step/300%2 == 0
			switch i := r.IntN(max(1, len(entries))); {
			case len(entries) == 0 || growing && r.IntN(3) > 0:
				e := &entry{expires: r.Int64N(200)} // a small range, so that some entries expire at the same time
				x.add(e)
				entries = append(entries, e)
			case r.IntN(2) == 0:
				entries[i].expires = r.Int64N(200)
				x.fix(entries[i])
			default:
				x.remove(entries[i])
				entries[i] = entries[len(entries)-1]
				entries = entries[:len(entries)-1]
			}
			if why := disorder(x, entries); why != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, why)
			}
		}
	}
}

// disorder describes what is wrong with an expiry heap that should contain entries, or returns "".
func disorder(x expiry, entries []*entry) string {
	if len(x) != len(entries) {
		return fmt.Sprintf("the heap has %d entries, want %d", len(x), len(entries))
	}
	if rest := x[:cap(x)][len(x):]; len(rest) > 0 && rest[0].entry != nil {
		return "the heap still refers to a removed entry"
	}
	if len(entries) == 0 {
		if x.expired(1 << 62) {
			return "an empty heap reports an expired entry"
		}
		return ""
	}
	soonest := entries[0].expires
	for _, e := range entries {
		soonest = min(soonest, e.expires)
		switch {
		case e.index >= len(x) || x[e.index].entry != e:
			return "an entry is not at its index"
		case x[e.index].at != e.expires:
			return "an entry has another expiry time in the heap"
		}
	}
	switch {
	case x.first().expires != soonest:
		return "the first entry is not the one that expires first"
	case x.expired(soonest - 1):
		return "an entry expires too early"
	case !x.expired(soonest):
		return "an expired entry is not reported"
	}
	return ""
}
