package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/engine"
)

// Inspection: T13's search for a leaked lock.
var operatorLaws = []Law{
	{"operator", "a held lock is listed with its holders", func(b *testbed) {
		for _, k := range []engine.Kind{engine.Exclusive, engine.Write, engine.Permit} {
			if !b.Capabilities().Has(k) {
				continue
			}
			a := b.askKind(k, ann)
			a.Key += k.String()
			g := b.granted(a)
			l := b.listed(a.Key)
			if l.Kind != k || len(l.Holders) != 1 || len(l.Waiters) != 0 {
				b.fatalf("a lock held as %s is listed as %+v", k, l)
			}
			h := l.Holders[0]
			if h.Name != ann || h.Kind != k || h.Count != 1 || h.Fence != g.Fence || h.Left <= 0 || h.Left > b.Lease {
				b.errorf("the holder of %+v is listed as %+v", g, h)
			}
		}
	}},
	{"operator", "the remaining lease is listed", func(b *testbed) {
		a := b.ask(ann)
		b.inspector()
		b.granted(a)
		b.sleepMostOfLease()
		if h := b.inspect(a.Key).Holders; len(h) != 1 || h[0].Left <= 0 || h[0].Left > b.Lease/2 {
			b.errorf("the holders are %+v, want one with at most half of the lease of %v left", h, b.Lease)
		}
	}},
	{"operator", "a named owner is listed with how often it has entered", func(b *testbed) {
		b.inspector()
		a := b.ask(ann)
		b.granted(a)
		b.granted(b.ask(ann))
		if h := b.inspect(a.Key).Holders; len(h) != 1 || h[0].Count != 2 {
			b.errorf("the holders are %+v, want one that has entered twice", h)
		}
	}},
	{"operator", "readers are all listed each with its own lease and fence", func(b *testbed) {
		b.inspector()
		a, c := b.read(ann), withLease(b.read(bob), 3*b.Lease)
		fences := map[string]uint64{ann: b.granted(a).Fence, bob: b.granted(c).Fence}
		l := b.listed(a.Key)
		if l.Kind != engine.Read || len(l.Holders) != 2 {
			b.fatalf("two readers are listed as %+v", l)
		}
		for _, h := range l.Holders {
			if h.Kind != engine.Read || h.Count != 1 || h.Fence != fences[h.Name] || (h.Left > b.Lease) != (h.Name == bob) {
				b.errorf("a reader with fence %d is listed as %+v", fences[h.Name], h)
			}
			delete(fences, h.Name)
		}
		if len(fences) != 0 {
			b.errorf("not listed: %v", fences)
		}
	}},
	{"operator", "a reader that crashed is not listed beside others", func(b *testbed) {
		b.inspector()
		a := b.read(ann)
		b.granted(a)
		b.granted(withLease(b.read(bob), 3*b.Lease))
		b.sleepPastLease()
		if h := b.inspect(a.Key).Holders; len(h) != 1 || h[0].Name != bob {
			b.errorf("the holders are %+v, want bob alone", h)
		}
	}},
	{"operator", "a writer that also reads is listed first as the writer", func(b *testbed) {
		b.inspector()
		a := b.write(ann)
		g := b.granted(a)
		b.granted(b.read(ann))
		l := b.inspect(a.Key)
		if l.Kind != engine.Write || len(l.Holders) == 0 {
			b.fatalf("the lock of a writer is inspected as %+v", l)
		}
		if h := l.Holders[0]; h.Name != ann || h.Kind != engine.Write || h.Fence != g.Fence {
			b.errorf("the writer is inspected as %+v", h)
		}
	}},
	{"operator", "the permits of one holder are all listed", func(b *testbed) {
		b.inspector()
		a, count := b.permit(ann, 2), 0
		b.granted(a)
		b.granted(b.permit(ann, 2))
		l := b.inspect(a.Key)
		for _, h := range l.Holders {
			count += h.Count
			if h.Name != ann || h.Kind != engine.Permit {
				b.errorf("a permit is inspected as %+v", h)
			}
		}
		if l.Kind != engine.Permit || count != 2 {
			b.errorf("two permits are inspected as %+v", l)
		}
	}},
	{"operator", "waiters for a fair lock are listed in order", func(b *testbed) {
		b.inspector()
		a := b.fair(ann)
		b.granted(a)
		queue := b.queueOf(3, b.fair)
		if l := b.listed(a.Key); l.Kind != engine.Fair {
			b.errorf("a lock with a queue is listed as %s, want fair", l.Kind)
		}
		b.inQueue(queue)
	}},
	{"operator", "waiting readers and writers are listed in order", func(b *testbed) {
		b.inspector()
		a := b.write(ann)
		b.granted(a)
		b.inQueue([]engine.Request{b.queued(b.read(bob)), b.queued(b.write(eve)), b.queued(b.read(caller(1)))})
	}},
	{"operator", "waiters for a permit are listed in order", func(b *testbed) {
		b.inspector()
		b.granted(b.permit(ann, 1))
		b.inQueue(b.queueOf(3, func(holder string) engine.Request { return b.permit(holder, 1) }))
	}},
	{"operator", "a waiter whose position expired is not listed", func(b *testbed) {
		b.inspector()
		b.granted(b.withLongLease(b.fair(ann)))
		b.busy(withQueueLease(b.fair(bob), b.Lease))
		c := b.queued(b.fair(eve))
		b.sleepPastLease()
		b.inQueue([]engine.Request{c})
	}},
	{"operator", "waiters for a free lock are listed as well", func(b *testbed) {
		b.inspector()
		a := b.fair(ann)
		b.granted(a)
		c := b.queued(b.fair(bob))
		b.releases(a, engine.Released)
		b.inQueue([]engine.Request{c})
		if l := b.inspect(a.Key); len(l.Holders) != 0 {
			b.errorf("a free lock is inspected as %+v", l)
		}
	}},
	{"operator", "a lock that is free is not listed and has no holders", func(b *testbed) {
		b.inspector()
		a, c := b.ask(ann), b.askFor("c", bob)
		b.granted(a)
		b.granted(c)
		b.releases(a, engine.Released)
		b.sleepPastLease()
		for _, key := range []string{a.Key, c.Key, b.prefix + "never"} {
			if l := b.inspect(key); l.Key != key || len(l.Holders)+len(l.Waiters) != 0 {
				b.errorf("a free lock is inspected as %+v", l)
			}
		}
		if locks := b.list(b.prefix + "*"); len(locks) != 0 {
			b.errorf("free locks are listed: %+v", locks)
		}
	}},
	{"operator", "a latch is not listed or inspected as a lock", func(b *testbed) {
		b.inspector()
		r := b.latch(2)
		b.countsDownTo(r, 1)
		b.wantErrKind(errOf(b.inspector().Inspect(b.ctx, r.Key)))
		b.wantErrKind(errOf(b.inspector().ForceRelease(b.ctx, r.Key)))
		if locks := b.list(b.prefix + "*"); len(locks) != 0 {
			b.errorf("a latch is listed: %+v", locks)
		}
		b.countsDownTo(withoutAttempt(b.latch(2)), 1)
	}},
	{"operator", "inspecting a lock changes nothing", func(b *testbed) {
		b.inspector()
		a := b.ask(ann)
		before := b.granted(a)
		b.sleepMostOfLease()
		b.listed(a.Key)
		b.inspect(a.Key)
		if after := b.inspect(a.Key).Holders; len(after) != 1 || after[0].Fence != before.Fence || after[0].Count != 1 {
			b.errorf("the holder of %+v is inspected as %+v", before, after)
		}
		b.sleepMostOfLease()
		b.free(a)
	}},
	{"operator", "only keys that match the pattern are listed", func(b *testbed) {
		b.inspector()
		for _, name := range []string{"order:1", "order:22", "pay:1", "a*b", "a+b", "a[b]"} {
			b.granted(withLease(b.askFor(name, ann), 5*b.Lease))
		}
		for pattern, want := range map[string][]string{
			"order:*": {"order:1", "order:22"}, "order:?": {"order:1"}, "*:1": {"order:1", "pay:1"},
			"order:1": {"order:1"}, `a\*b`: {"a*b"}, "a?b": {"a*b", "a+b"}, "a[b]": {"a[b]"}, "x*": nil,
		} {
			var got []string
			for _, l := range b.list(b.prefix + pattern) {
				got = append(got, strings.TrimPrefix(l.Key, b.prefix))
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				b.errorf("%q lists %q, want %q", pattern, got, want)
			}
		}
	}},
	{"operator", "three hundred locks are all listed page by page", func(b *testbed) {
		b.inspector()
		rs, found := make([]engine.Request, 300), make(map[string]bool)
		for i := range rs {
			rs[i] = b.withLongLease(b.askFor(fmt.Sprint(i), ann))
		}
		b.together(len(rs), func(i int) { b.Acquire(b.ctx, rs[i]) })
		for _, l := range b.list(b.prefix + "*") {
			found[l.Key] = true
		}
		if len(found) != len(rs) {
			b.errorf("%d of %d locks are listed", len(found), len(rs))
		}
		b.together(len(rs), func(i int) { b.Release(b.ctx, rs[i]) })
	}},
	{"operator", "listeners of an exclusive lock are counted", func(b *testbed) {
		b.inspector()
		a := b.ask(ann)
		b.granted(a)
		wake, stop := b.listen(b.ask(bob))
		defer stop()
		b.notified(wake)
		if l := b.inspect(a.Key); l.Listeners < 1 {
			b.errorf("Listeners is %d, want at least 1", l.Listeners)
		}
	}},
	{"operator", "an inspection whose context is done fails", func(b *testbed) {
		i, a := b.inspector(), b.ask(ann)
		_, _, err := i.List(b.doneContext(), "*", "")
		b.wantCanceled(err)
		b.wantCanceled(errOf(i.Inspect(b.doneContext(), a.Key)))
		b.wantCanceled(errOf(i.Members(b.doneContext(), []string{"m"})))
	}},
}

// inspector returns the inspector of the engine. Without one it skips the law.
func (b *testbed) inspector() engine.Inspector {
	i := b.Capabilities().Inspector
	if i == nil {
		b.skip("the engine has no inspector")
	}
	return i
}

// inspect requires that key can be inspected, and returns its lock.
func (b *testbed) inspect(key string) engine.Lock {
	l, err := b.inspector().Inspect(b.ctx, key)
	if err != nil {
		b.fatalf("inspect %q: %v", key, err)
	}
	return l
}

// list returns all listed locks, over all pages.
func (b *testbed) list(pattern string) (all []engine.Lock) {
	for cursor := ""; ; {
		locks, next, err := b.inspector().List(b.ctx, pattern, cursor)
		if err != nil {
			b.fatalf("list %q from %q: %v", pattern, cursor, err)
		}
		all = append(all, locks...)
		if cursor = next; cursor == "" {
			return all
		}
	}
}

// listed requires that the lock at key is listed.
func (b *testbed) listed(key string) engine.Lock {
	for _, l := range b.list(b.prefix + "*") {
		if l.Key == key {
			return l
		}
	}
	b.fatalf("%q is not listed", key)
	return engine.Lock{}
}

// inQueue requires exactly these waiters, in order.
func (b *testbed) inQueue(rs []engine.Request) {
	waiters := b.inspect(rs[0].Key).Waiters
	if len(waiters) != len(rs) {
		b.fatalf("the waiters are %+v, want %d", waiters, len(rs))
	}
	for i, r := range rs {
		w := waiters[i]
		if w.Name != r.Holder || w.Kind != r.Kind || w.Left <= 40*b.Lease || w.Left > 50*b.Lease {
			b.errorf("waiter %d is %+v, want %s as %s for %v", i, w, r.Holder, r.Kind, 50*b.Lease)
		}
	}
}
