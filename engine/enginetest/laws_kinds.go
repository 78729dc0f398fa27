package enginetest

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// Kinds on one key: T1's kinds do not mix.
var meetLaws = []Law{
	{"kinds", "an exclusive lock refuses other families", func(b *bench) { b.keepsApart(engine.Exclusive) }},
	{"kinds", "a fair lock refuses other families", func(b *bench) { b.keepsApart(engine.Fair) }},
	{"kinds", "a read lock refuses other families", func(b *bench) { b.keepsApart(engine.Read) }},
	{"kinds", "a write lock refuses other families", func(b *bench) { b.keepsApart(engine.Write) }},
	{"kinds", "a semaphore refuses other families", func(b *bench) { b.keepsApart(engine.Permit) }},
	{"kinds", "a latch refuses lock requests", func(b *bench) {
		b.counted(b.latch(3), 2)
		for _, k := range b.kinds() {
			b.refused(b.as(k, bob), engine.ErrKind)
			b.refused(withQueueLease(b.as(k, bob), b.Lease), engine.ErrKind)
		}
		b.counted(looking(b.latch(3)), 2)
	}},
	{"kinds", "a request refused for its kind is not queued", func(b *bench) {
		b.pairs(func(one, other engine.Kind) {
			a := b.as(one, ann)
			b.granted(a)
			b.refused(withQueueLease(b.as(other, bob), 50*b.Lease), engine.ErrKind)
			b.leaves(a, engine.Released)
			c := b.as(other, eve)
			b.granted(c)
			b.ahead(b.busy(b.as(rival(other), caller(1))), 0)
			b.leaves(c, engine.Released)
		})
	}},
	{"kinds", "a released lock may be acquired as any kind", func(b *bench) {
		b.pairs(func(one, other engine.Kind) {
			for _, r := range []engine.Request{b.as(one, ann), b.as(other, bob)} {
				b.granted(r)
				b.leaves(r, engine.Released)
			}
		})
	}},
	{"kinds", "a lock whose lease expired may be acquired as any kind", func(b *bench) {
		var rs []engine.Request
		b.pairs(func(one, other engine.Kind) {
			a, c := b.as(one, ann), b.as(other, bob)
			a.Key += one.String() + other.String()
			c.Key = a.Key
			b.granted(a)
			rs = append(rs, c)
		})
		b.passAll()
		for _, r := range rs {
			b.granted(r)
		}
	}},
	{"kinds", "an expired latch leaves its key to any kind", func(b *bench) {
		b.counted(b.latch(1), 0)
		b.passAll()
		for _, k := range b.kinds() {
			r := b.as(k, ann)
			b.granted(r)
			b.leaves(r, engine.Released)
		}
		b.counted(looking(b.latch(1)), 1)
	}},
	{"kinds", "a request of another kind neither renews nor releases", func(b *bench) {
		b.pairs(func(one, other engine.Kind) {
			a := b.as(one, ann)
			b.granted(a)
			odd := b.as(other, ann)
			odd.Attempt = a.Attempt
			if err := b.renew(odd); !errors.Is(err, engine.ErrNotHolder) && !errors.Is(err, engine.ErrKind) {
				b.errorf("renewal of %s as %s: error %v, want %v", one, other, err, engine.ErrNotHolder)
			}
			if p, err := b.Release(b.ctx, odd); err == nil && p.Outcome != engine.NotYours {
				b.errorf("release of %s as %s: %v, want %v", one, other, p.Outcome, engine.NotYours)
			}
			b.renewed(a)
			b.leaves(a, engine.Released)
		})
	}},
}

// keepsApart demands that a lock held as k is refused to every other family, and
// not disturbed thereby.
func (b *bench) keepsApart(k engine.Kind) {
	met := false
	a := b.as(k, ann)
	first := b.granted(a)
	b.pairs(func(one, other engine.Kind) {
		if one != k {
			return
		}
		met = true
		b.refused(b.as(other, bob), engine.ErrKind)
		b.refused(b.as(other, ann), engine.ErrKind)
		b.refused(withQueueLease(b.as(other, bob), b.Lease), engine.ErrKind)
	})
	if b.Capabilities().Latcher != nil {
		met = true
		if _, err := b.latcher().CountDown(b.ctx, b.latch(1)); !errors.Is(err, engine.ErrKind) {
			b.errorf("counting down what is held as %s: error %v, want %v", k, err, engine.ErrKind)
		}
	}
	if !met {
		b.skip("the engine has no locks of another family")
	}
	if g := b.granted(again(a)); g != first {
		b.errorf("the grant went from %+v to %+v", first, g)
	}
	b.renewed(a)
	b.leaves(a, engine.Released)
}

// pairs calls f for every two kinds of locks that do not mix. It ends the law if
// the engine has none.
func (b *bench) pairs(f func(one, other engine.Kind)) {
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
		b.skip("the engine has locks of one family")
	}
}

// kinds are the kinds of locks that the engine has.
func (b *bench) kinds() (kinds []engine.Kind) {
	for _, k := range []engine.Kind{engine.Exclusive, engine.Fair, engine.Read, engine.Write, engine.Permit} {
		if b.Capabilities().Has(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// as is a new acquisition as any kind of lock, with a limit of one.
func (b *bench) as(k engine.Kind, holder string) engine.Request {
	r := b.askAs(k, holder)
	r.Limit = 1
	return r
}

// family is the first of the kinds that may be at one key together.
func family(k engine.Kind) engine.Kind {
	switch k {
	case engine.Fair:
		return engine.Exclusive
	case engine.Write:
		return engine.Read
	}
	return k
}

// rival is how to ask for a lock held as k so that it is refused.
func rival(k engine.Kind) engine.Kind {
	if family(k) == engine.Read {
		return engine.Write
	}
	return k
}
