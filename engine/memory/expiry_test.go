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
		var in []*entry
		for step := range 2000 {
			growing := step/300%2 == 0
			switch i := r.IntN(max(1, len(in))); {
			case len(in) == 0 || growing && r.IntN(3) > 0:
				e := &entry{expires: r.Int64N(200)} // so few times that some entries share one
				x.add(e)
				in = append(in, e)
			case r.IntN(2) == 0:
				in[i].expires = r.Int64N(200)
				x.fix(in[i])
			default:
				x.remove(in[i])
				in[i] = in[len(in)-1]
				in = in[:len(in)-1]
			}
			if why := disorder(x, in); why != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, why)
			}
		}
	}
}

// disorder describes what is wrong with an expiry heap whose entries are in, or returns "".
func disorder(x expiry, in []*entry) string {
	if len(x) != len(in) {
		return fmt.Sprintf("the heap has %d entries, want %d", len(x), len(in))
	}
	if rest := x[:cap(x)][len(x):]; len(rest) > 0 && rest[0].entry != nil {
		return "the heap still refers to a removed entry"
	}
	if len(in) == 0 {
		if x.expired(1 << 62) {
			return "an empty heap reports an expired entry"
		}
		return ""
	}
	soonest := in[0].expires
	for _, e := range in {
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
