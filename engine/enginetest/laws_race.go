package enginetest

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Concurrent requests: S1's one atomic step.
var raceLaws = []Law{
	{"race", "of concurrent requests one is granted", func(b *testbed) {
		rs := b.askAll(50)
		var granted atomic.Int32
		b.together(len(rs), func(i int) {
			var busy *engine.BusyError
			if _, err := b.Acquire(b.ctx, rs[i]); err == nil {
				granted.Add(1)
			} else if !errors.As(err, &busy) {
				b.errorf("acquire %d: %v", i, err)
			}
		})
		if n := granted.Load(); n != 1 {
			b.errorf("%d requests were granted, want one", n)
		}
	}},
	{"race", "concurrent requests of one attempt are one hold", func(b *testbed) {
		const n = 20
		a, grants := asRetry(b.ask(ann)), make([]engine.Grant, n)
		b.together(n, func(i int) {
			g, err := b.Acquire(b.ctx, a)
			if err != nil {
				b.errorf("acquire %d: %v", i, err)
			}
			grants[i] = g
		})
		for _, g := range grants {
			if g.Count != 1 || g.Fence != grants[0].Fence {
				b.fatalf("the grants are %+v, want them equal", grants)
			}
		}
		b.releases(a, engine.Released)
		b.free(a)
	}},
	{"race", "of concurrent releases of one hold one succeeds", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		var released atomic.Int32
		b.together(20, func(int) {
			p, err := b.Release(b.ctx, a)
			switch {
			case err != nil:
				b.errorf("release: %v", err)
			case p.Outcome == engine.Released:
				released.Add(1)
			case p.Outcome != engine.AlreadyFree:
				b.errorf("release: %v", p.Outcome)
			}
		})
		if n := released.Load(); n != 1 {
			b.errorf("%d releases were answered with released, want one", n)
		}
	}},
	{"race", "no lock has two holders at a time", func(b *testbed) {
		var inside atomic.Int32
		b.compete(func(engine.Grant) {
			if inside.Add(1) != 1 {
				b.errorf("two holders are inside at once")
			}
			time.Sleep(time.Millisecond) // lets others try to enter
			inside.Add(-1)
		})
	}},
	{"race", "fences rise in the order of grants however many compete", func(b *testbed) {
		var last atomic.Uint64
		b.compete(func(g engine.Grant) {
			if before := last.Swap(g.Fence); g.Fence <= before {
				b.errorf("the fence went from %d to %d", before, g.Fence)
			}
		})
	}},
}

// compete lets eight holders acquire the same lock ten times each, and calls inside
// while one holds it.
func (b *testbed) compete(inside func(engine.Grant)) {
	const many, turns = 8, 10
	rs := make([][turns]engine.Request, many)
	for i := range rs {
		for turn := range turns {
			r := withLease(b.ask(caller(i)), 100*b.Lease) // no lease must expire in this law
			r.Fenced = true
			rs[i][turn] = r
		}
	}
	start := time.Now()
	defer func() { b.slept += time.Since(start) }() // no lease depends on how long it takes
	b.together(many, func(i int) {
		for turn, r := range rs[i] {
			g, ok := b.acquireUntilGranted(r)
			if !ok {
				return
			}
			inside(g)
			if _, err := b.Release(b.ctx, r); err != nil {
				b.errorf("release %d of %s: %v", turn, nameOf(r.Holder), err)
			}
		}
	})
}

// competeAs lets six holders of each kind acquire the same lock ten times each, with
// queue positions, and calls inside while a holder has it. The limit is for permits.
func (b *testbed) competeAs(kinds []engine.Kind, limit int, inside func(engine.Request)) {
	const each, turns = 6, 10
	var rs [][turns]engine.Request
	for range each {
		for _, kind := range kinds {
			var mine [turns]engine.Request
			for turn := range mine {
				mine[turn] = withQueueLease(b.withLongLease(b.askAs(kind, caller(len(rs)))), 50*b.Lease)
				mine[turn].Limit = limit
			}
			rs = append(rs, mine)
		}
	}
	b.ignoringTime(func() {
		b.together(len(rs), func(i int) {
			for _, r := range rs[i] {
				if _, ok := b.acquireUntilGranted(r); !ok {
					return
				}
				inside(r)
				if _, err := b.Release(b.ctx, r); err != nil {
					b.errorf("release for %s: %v", nameOf(r.Holder), err)
				}
			}
		})
	})
}

// acquireUntilGranted repeats r until it is granted. It reports false after an error.
func (b *testbed) acquireUntilGranted(r engine.Request) (engine.Grant, bool) {
	for b.ctx.Err() == nil {
		g, err := b.Acquire(b.ctx, r)
		var busy *engine.BusyError
		if err == nil {
			return g, true
		} else if !errors.As(err, &busy) {
			b.errorf("acquire: %v", err)
			return g, false
		}
		time.Sleep(time.Millisecond)
	}
	b.errorf("the lock was not granted within the limit")
	return engine.Grant{}, false
}
