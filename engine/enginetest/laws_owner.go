package enginetest

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// Named owners: an owner may enter from several processes, each with its own attempt.
// Requirement T2: the count per owner. T4: a release decrements it.
var ownerLaws = []Law{
	{"owner", "a named owner may enter again and is counted", func(b *testbed) {
		for want := 1; want <= 3; want++ {
			if g := b.granted(b.ask(ann)); g.Count != want {
				b.errorf("the count is %d, want %d", g.Count, want)
			}
		}
	}},
	{"owner", "a named owner releases as often as it entered", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		if p := b.releases(second, engine.Released); p.Count != 1 {
			b.errorf("%d holds are left, want 1", p.Count)
		}
		b.heldBy(first)
		if p := b.releases(first, engine.Released); p.Count != 0 {
			b.errorf("%d holds are left, want none", p.Count)
		}
		b.free(first)
	}},
	{"owner", "the entries of a named owner may end in any order", func(b *testbed) {
		rs := []engine.Request{b.ask(ann), b.ask(ann), b.ask(ann)}
		for _, r := range rs {
			b.granted(r)
		}
		for i, want := range []int{2, 1, 0} {
			r := rs[(i+1)%3] // the middle, the last, the first
			if p := b.releases(r, engine.Released); p.Count != want {
				b.errorf("%d holds are left, want %d", p.Count, want)
			}
		}
		b.free(rs[0])
	}},
	{"owner", "entering again keeps the fence", func(b *testbed) {
		first, second := b.granted(b.ask(ann)), b.granted(b.ask(ann))
		if first.Fence != second.Fence {
			b.errorf("the fence went from %d to %d", first.Fence, second.Fence)
		}
	}},
	{"owner", "entering a fenced lock again keeps the fence", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		first.Fenced, second.Fenced = true, true
		if f, s := b.granted(first), b.granted(second); f.Fence != s.Fence {
			b.errorf("the fence went from %d to %d", f.Fence, s.Fence)
		}
	}},
	{"owner", "entering again restarts the lease", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.granted(b.ask(ann))
		b.sleepMostOfLease()
		b.heldBy(a)
	}},
	{"owner", "entering again does not shorten the lease", func(b *testbed) {
		a := b.ask(ann)
		b.granted(withLease(a, 3*b.Lease))
		b.granted(b.ask(ann))
		b.sleepPastLease()
		b.heldBy(a)
	}},
	{"owner", "an entry that is repeated is counted once", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		if g := b.granted(asRetry(second)); g.Count != 2 {
			b.errorf("the count is %d, want 2", g.Count)
		}
		if g := b.granted(asRetry(first)); g.Count != 2 {
			b.errorf("the count is %d, want 2", g.Count)
		}
	}},
	{"owner", "every entry of a named owner can be renewed", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		b.renewed(first)
		b.renewed(second)
	}},
	{"owner", "an entry that has ended cannot be renewed", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		b.releases(first, engine.Released)
		b.notRenewed(first)
		b.renewed(second)
	}},
	{"owner", "a second release of one entry does not end another", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		b.releases(first, engine.Released)
		b.releases(first, engine.NotYours)
		b.heldBy(second)
		b.releases(second, engine.Released)
	}},
	{"owner", "abandoning an entry leaves the others", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		b.granted(first)
		b.granted(second)
		if p := b.abandons(second, engine.Released); p.Count != 1 {
			b.errorf("%d holds are left, want 1", p.Count)
		}
		b.heldBy(first)
		b.refused(asRetry(second), engine.ErrAbandoned)
		b.releases(first, engine.Released)
		b.free(first)
	}},
	{"owner", "a named owner whose lease expired leaves nothing", func(b *testbed) {
		b.granted(b.ask(ann))
		b.granted(b.ask(ann))
		b.sleepPastLease()
		if g := b.granted(b.ask(ann)); g.Count != 1 {
			b.errorf("the count is %d, want 1", g.Count)
		}
	}},
	{"owner", "entries made at the same time are all counted", func(b *testbed) {
		const n = 20
		rs, counts := make([]engine.Request, n), make([]int, n)
		for i := range rs {
			rs[i] = b.ask(ann)
		}
		b.together(n, func(i int) {
			g, err := b.Acquire(b.ctx, rs[i])
			if err != nil {
				b.errorf("entry %d: %v", i, err)
			}
			counts[i] = g.Count
		})
		slices.Sort(counts)
		for i, count := range counts {
			if count != i+1 {
				b.fatalf("the counts are %d, want 1 to %d", counts, n)
			}
		}
		b.together(n, func(i int) { b.Release(b.ctx, rs[i]) })
		b.free(rs[0])
	}},
}
