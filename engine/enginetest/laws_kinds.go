package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// Kinds on one key: T1's kinds do not mix.
var kindLaws = []Law{
	{"kinds", "an exclusive lock refuses other families", func(b *testbed) { b.refusesOtherFamilies(engine.Exclusive) }},
	{"kinds", "a fair lock refuses other families", func(b *testbed) { b.refusesOtherFamilies(engine.Fair) }},
	{"kinds", "a read lock refuses other families", func(b *testbed) { b.refusesOtherFamilies(engine.Read) }},
	{"kinds", "a write lock refuses other families", func(b *testbed) { b.refusesOtherFamilies(engine.Write) }},
	{"kinds", "a semaphore refuses other families", func(b *testbed) { b.refusesOtherFamilies(engine.Permit) }},
	{"kinds", "a latch refuses lock requests", func(b *testbed) {
		b.countsDownTo(b.latch(3), 2)
		for _, k := range b.kinds() {
			b.refused(b.askKind(k, bob), engine.ErrKind)
			b.refused(withQueueLease(b.askKind(k, bob), b.Lease), engine.ErrKind)
		}
		b.countsDownTo(withoutAttempt(b.latch(3)), 2)
	}},
	{"kinds", "a request refused for its kind is not queued", func(b *testbed) {
		b.everyPair(func(one, other engine.Kind) {
			a := b.askKind(one, ann)
			b.granted(a)
			b.refused(withQueueLease(b.askKind(other, bob), 50*b.Lease), engine.ErrKind)
			b.releases(a, engine.Released)
			c := b.askKind(other, eve)
			b.granted(c)
			b.ahead(b.busy(b.askKind(conflicting(other), caller(1))), 0)
			b.releases(c, engine.Released)
		})
	}},
	{"kinds", "a released lock may be acquired as any kind", func(b *testbed) {
		b.everyPair(func(one, other engine.Kind) {
			for _, r := range []engine.Request{b.askKind(one, ann), b.askKind(other, bob)} {
				b.granted(r)
				b.releases(r, engine.Released)
			}
		})
	}},
	{"kinds", "a lock whose lease expired may be acquired as any kind", func(b *testbed) {
		var rs []engine.Request
		b.everyPair(func(one, other engine.Kind) {
			a, c := b.askKind(one, ann), b.askKind(other, bob)
			a.Key += one.String() + other.String()
			c.Key = a.Key
			b.granted(a)
			rs = append(rs, c)
		})
		b.sleepPastLease()
		for _, r := range rs {
			b.granted(r)
		}
	}},
	{"kinds", "an expired latch leaves its key to any kind", func(b *testbed) {
		b.countsDownTo(b.latch(1), 0)
		b.sleepPastLease()
		for _, k := range b.kinds() {
			r := b.askKind(k, ann)
			b.granted(r)
			b.releases(r, engine.Released)
		}
		b.countsDownTo(withoutAttempt(b.latch(1)), 1)
	}},
	{"kinds", "a request of another kind neither renews nor releases", func(b *testbed) {
		b.everyPair(func(one, other engine.Kind) {
			a := b.askKind(one, ann)
			b.granted(a)
			odd := b.askKind(other, ann)
			odd.Attempt = a.Attempt
			if err := b.renew(odd); !errors.Is(err, engine.ErrNotHolder) && !errors.Is(err, engine.ErrKind) {
				b.errorf("renewal of %s as %s: error %v, want %v", one, other, err, engine.ErrNotHolder)
			}
			if p, err := b.Release(b.ctx, odd); err == nil && p.Outcome != engine.NotYours {
				b.errorf("release of %s as %s: %v, want %v", one, other, p.Outcome, engine.NotYours)
			}
			b.renewed(a)
			b.releases(a, engine.Released)
		})
	}},
}

// refusesOtherFamilies requires that a lock held as k is refused to requests of every
// other family, and that the refusals change nothing.
func (b *testbed) refusesOtherFamilies(k engine.Kind) {
	met := false
	a := b.askKind(k, ann)
	first := b.granted(a)
	b.everyPair(func(one, other engine.Kind) {
		if one != k {
			return
		}
		met = true
		b.refused(b.askKind(other, bob), engine.ErrKind)
		b.refused(b.askKind(other, ann), engine.ErrKind)
		b.refused(withQueueLease(b.askKind(other, bob), b.Lease), engine.ErrKind)
	})
	if b.Capabilities().Latcher != nil {
		met = true
		if _, err := b.latcher().CountDown(b.ctx, b.latch(1)); !errors.Is(err, engine.ErrKind) {
			b.errorf("count down a key that is held as %s: error %v, want %v", k, err, engine.ErrKind)
		}
	}
	if !met {
		b.skip("the engine has no locks of another family")
	}
	if g := b.granted(asRetry(a)); g != first {
		b.errorf("the grant went from %+v to %+v", first, g)
	}
	b.renewed(a)
	b.releases(a, engine.Released)
}

// everyPair calls f for every two kinds of locks of different families. It skips the law
// if the engine has only one family.
func (b *testbed) everyPair(f func(one, other engine.Kind)) {
	met := false
	for _, one := range b.kinds() {
		for _, other := range b.kinds() {
			if family(one) != family(other) {
				met = true
				f(one, other)
			}
		}
	}
	if !met {
		b.skip("the engine has locks of one family only")
	}
}

// kinds returns the kinds of locks that the engine has.
func (b *testbed) kinds() (kinds []engine.Kind) {
	for _, k := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit} {
		if b.Capabilities().Has(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// askKind returns a new request for a lock of kind k, with a limit of one.
func (b *testbed) askKind(k engine.Kind, holder string) engine.Request {
	r := b.askAs(k, holder)
	r.Limit = 1
	return r
}

// family returns one kind for all kinds of k's family. Requests of one family may use the
// same key.
func family(k engine.Kind) engine.Kind {
	switch k {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return k
}

// conflicting returns a kind of the same family that is refused while k is held.
func conflicting(k engine.Kind) engine.Kind {
	if family(k) == engine.Read {
		return engine.Write
	}
	return k
}
