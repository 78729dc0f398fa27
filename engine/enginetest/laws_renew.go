package enginetest

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/engine"
)

// Renewals of locks.
var renewLaws = []Law{
	{"renew", "a renewed lease does not expire", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		for range 3 {
			b.passMost()
			b.renewed(a)
		}
		b.passMost()
		b.held(a)
	}},
	{"renew", "a renewed lease runs out once it is renewed no more", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.passMost()
		b.renewed(a)
		b.passAll()
		b.free(a)
	}},
	{"renew", "a renewal can make a lease longer", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.renewed(lasting(a, 3*b.Lease))
		b.passAll()
		b.held(a)
	}},
	{"renew", "a renewal never makes a lease shorter", func(b *bench) {
		a := b.ask(ann)
		b.granted(lasting(a, 3*b.Lease))
		b.renewed(a)
		b.passAll()
		b.held(a)
	}},
	{"renew", "a renewal changes neither fence nor count", func(b *bench) {
		a := b.ask(ann)
		before := b.granted(a)
		b.renewed(a)
		if after := b.granted(again(a)); after != before {
			b.errorf("the grant went from %+v to %+v", before, after)
		}
		b.leaves(a, engine.Released)
		b.free(a)
	}},
	{"renew", "a renewal does not restore an expired lease", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.passAll()
		b.unrenewed(a)
		b.free(a)
	}},
	{"renew", "a renewal does not bring back a lock that was released", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.unrenewed(a)
		b.free(a)
	}},
	{"renew", "a renewal does not take a lock that was never held", func(b *bench) {
		a := b.ask(ann)
		b.unrenewed(a)
		b.free(a)
	}},
	{"renew", "another holder cannot renew", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.passMost()
		b.unrenewed(b.ask(bob))
		b.held(a)
		b.passMost()
		b.free(a)
	}},
	{"renew", "another attempt of the holder cannot renew", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		b.passMost()
		b.unrenewed(b.ask(ann))
		b.passMost()
		b.free(a)
	}},
	{"renew", "a former holder cannot renew its successor's lease", func(b *bench) {
		a, c := b.ask(ann), b.ask(bob)
		b.granted(a)
		b.passAll()
		b.granted(c)
		b.unrenewed(a)
		b.held(c)
	}},
	{"renew", "a batch is answered one by one, in order", func(b *bench) {
		rs := make([]engine.Request, 9)
		for i := range rs {
			if rs[i] = b.askFor(fmt.Sprint(i), ann); i%3 != 0 {
				b.granted(rs[i])
			}
			if i%3 == 1 {
				b.leaves(rs[i], engine.Released)
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
	{"renew", "three hundred leases are renewed in one call", func(b *bench) {
		rs := make([]engine.Request, 300)
		for i := range rs {
			rs[i] = lasting(b.askFor(fmt.Sprint(i), ann), 10*b.Lease) // taking them takes a while
		}
		b.together(len(rs), func(i int) { b.Acquire(b.ctx, rs[i]) })
		for i, err := range b.Renew(b.ctx, rs) {
			if err != nil {
				b.errorf("answer %d: %v", i, err)
			}
		}
		b.held(rs[0])
		b.held(rs[299])
		b.together(len(rs), func(i int) { b.Release(b.ctx, rs[i]) })
	}},
	{"renew", "a renewal in a batch counts as much as one alone", func(b *bench) {
		rs := []engine.Request{b.askFor("one", ann), b.askFor("two", ann), b.askFor("three", bob)}
		for _, r := range rs {
			b.granted(r)
		}
		b.passMost()
		for i, err := range b.Renew(b.ctx, rs) {
			if err != nil {
				b.errorf("answer %d: %v", i, err)
			}
		}
		b.passMost()
		for _, r := range rs {
			b.held(r)
		}
	}},
	{"renew", "an empty batch has no answers", func(b *bench) {
		if errs := b.Renew(b.ctx, nil); len(errs) != 0 {
			b.errorf("no request has %d answers", len(errs))
		}
	}},
}
