package enginetest

import (
	"fmt"
	"math"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Leases: R2's "no deadlock when a holder dies".
var leaseLaws = []Law{
	{"lease", "a lease expires", func(b *testbed) {
		b.granted(b.ask(ann))
		b.sleepPastLease()
		b.granted(b.ask(bob))
	}},
	{"lease", "a lease does not expire early", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.heldBy(a)
	}},
	{"lease", "leases of different locks are independent", func(b *testbed) {
		short, long := b.askFor("short", ann), withLease(b.askFor("long", ann), 3*b.Lease)
		b.granted(long)
		b.granted(short)
		b.sleepPastLease()
		b.free(short)
		b.heldBy(long)
	}},
	{"lease", "leases that expire together all expire", func(b *testbed) {
		rs := make([]engine.Request, 500)
		for i := range rs {
			rs[i] = b.askFor(fmt.Sprint(i), ann)
		}
		b.together(len(rs), func(i int) { b.Acquire(b.ctx, rs[i]) })
		b.sleepPastLease()
		b.together(len(rs), func(i int) {
			r := rs[i]
			r.Holder = bob
			if _, err := b.Acquire(b.ctx, r); err != nil {
				b.errorf("lock %d: %v", i, err)
			}
		})
	}},
	{"lease", "a holder after an expired lease gets a full lease", func(b *testbed) {
		b.granted(b.ask(ann))
		b.sleepPastLease()
		c := b.ask(bob)
		b.granted(c)
		b.sleepMostOfLease()
		b.heldBy(c)
	}},
	{"lease", "a holder whose lease expired is counted from one", func(b *testbed) {
		b.granted(b.ask(ann))
		b.sleepPastLease()
		a := b.ask(ann)
		if g := b.granted(a); g.Count != 1 {
			b.errorf("the count is %d, want 1", g.Count)
		}
		b.releases(a, engine.Released)
		b.free(a)
	}},
	{"lease", "the longest possible lease does not overflow", func(b *testbed) {
		if most := b.Capabilities().LongestLease; most > 0 {
			b.skip("the engine grants no lease that long")
		}
		a := withLease(b.ask(ann), math.MaxInt64)
		b.granted(a)
		b.renewed(a)
		b.sleepPastLease()
		if left := b.busy(b.ask(bob)).Left; left < 100*365*24*time.Hour {
			b.errorf("Left is %v, want nearly 292 years", left)
		}
		b.releases(a, engine.Released) // the lease does not expire in time
	}},
	{"lease", "no lease is longer than LongestLease", func(b *testbed) {
		most := b.Capabilities().LongestLease
		if most == 0 {
			b.skip("the engine grants any lease")
		}
		a := withLease(b.ask(ann), most+1)
		if g, err := b.Acquire(b.ctx, a); err == nil || engine.Temporary(err) {
			b.errorf("a lease above LongestLease: %+v, error %v; want an error that is not temporary", g, err)
		}
		b.granted(withLease(a, most))
		if err := b.Renew(b.ctx, []engine.Request{a})[0]; err == nil {
			b.errorf("a lease above LongestLease was renewed")
		}
	}},
}
