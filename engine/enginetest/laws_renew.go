package enginetest

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Renewals of locks.
var renewLaws = []Law{
	{"renew", "a renewed lease does not expire", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		for range 3 {
			b.sleepMostOfLease()
			b.renewed(a)
		}
		b.sleepMostOfLease()
		b.heldBy(a)
	}},
	{"renew", "a renewed lease expires when the renewals stop", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.renewed(a)
		b.sleepPastLease()
		b.free(a)
	}},
	{"renew", "a renewal can make a lease longer", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.renewed(withLease(a, 3*b.Lease))
		b.sleepPastLease()
		b.heldBy(a)
	}},
	{"renew", "a renewal never makes a lease shorter", func(b *testbed) {
		a := b.ask(ann)
		b.granted(withLease(a, 3*b.Lease))
		b.renewed(a)
		b.sleepPastLease()
		b.heldBy(a)
	}},
	{"renew", "a renewal changes neither fence nor count", func(b *testbed) {
		a := b.ask(ann)
		before := b.granted(a)
		b.renewed(a)
		if after := b.granted(asRetry(a)); after != before {
			b.errorf("the grant went from %+v to %+v", before, after)
		}
		b.releases(a, engine.Released)
		b.free(a)
	}},
	{"renew", "a renewal does not restore an expired lease", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepPastLease()
		b.notRenewed(a)
		b.free(a)
	}},
	{"renew", "a renewal does not restore a released lock", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.releases(a, engine.Released)
		b.notRenewed(a)
		b.free(a)
	}},
	{"renew", "a renewal does not take a lock that was never held", func(b *testbed) {
		a := b.ask(ann)
		b.notRenewed(a)
		b.free(a)
	}},
	{"renew", "another holder cannot renew", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.notRenewed(b.ask(bob))
		b.heldBy(a)
		b.sleepMostOfLease()
		b.free(a)
	}},
	{"renew", "another attempt of the holder cannot renew", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.notRenewed(b.ask(ann))
		b.sleepMostOfLease()
		b.free(a)
	}},
	{"renew", "a former holder cannot renew its successor's lease", func(b *testbed) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.sleepPastLease()
		b.granted(c)
		b.notRenewed(a)
		b.heldBy(c)
	}},
	{"renew", "a batch returns one answer per request, in order", func(b *testbed) {
		rs := make([]engine.Request, 9)
		for i := range rs {
			if rs[i] = b.askFor(fmt.Sprint(i), ann); i%3 != 0 {
				b.granted(rs[i])
			}
			if i%3 == 1 {
				b.releases(rs[i], engine.Released)
			}
		}
		errs := b.Renew(b.ctx, rs)
		if len(errs) != len(rs) {
			b.fatalf("%d requests have %d answers", len(rs), len(errs))
		}
		for i, err := range errs {
			if held := i%3 == 2; held && err != nil || !held && !errors.Is(err, engine.ErrNotHolder) {
				b.errorf("answer %d: error %v, although held is %v", i, err, held)
			}
		}
	}},
	{"renew", "three hundred leases are renewed in one call", func(b *testbed) {
		rs := make([]engine.Request, 300)
		for i := range rs {
			rs[i] = withLease(b.askFor(fmt.Sprint(i), ann), 10*b.Lease) // acquiring them takes a while
		}
		b.together(len(rs), func(i int) { b.Acquire(b.ctx, rs[i]) })
		for i, err := range b.Renew(b.ctx, rs) {
			if err != nil {
				b.errorf("answer %d: %v", i, err)
			}
		}
		b.heldBy(rs[0])
		b.heldBy(rs[299])
		b.together(len(rs), func(i int) { b.Release(b.ctx, rs[i]) })
	}},
	{"renew", "a renewal in a batch restarts the lease like a single one", func(b *testbed) {
		rs := []engine.Request{b.askFor("one", ann), b.askFor("two", ann), b.askFor("three", bob)}
		for _, r := range rs {
			b.granted(r)
		}
		b.sleepMostOfLease()
		for i, err := range b.Renew(b.ctx, rs) {
			if err != nil {
				b.errorf("answer %d: %v", i, err)
			}
		}
		b.sleepMostOfLease()
		for _, r := range rs {
			b.heldBy(r)
		}
	}},
	{"renew", "an empty batch has no answers", func(b *testbed) {
		if errs := b.Renew(b.ctx, nil); len(errs) != 0 {
			b.errorf("no request has %d answers", len(errs))
		}
	}},
}
