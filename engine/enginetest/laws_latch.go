package enginetest

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// When a latch opens: T1.
var latchLaws = []Law{
	{"latch", "a latch opens after as many counts as its limit", func(b *testbed) {
		for _, want := range []int{2, 1, 0} {
			b.countsDownTo(b.latch(3), want)
		}
	}},
	{"latch", "a new latch is closed", func(b *testbed) {
		b.countsDownTo(withoutAttempt(b.latch(3)), 3)
	}},
	{"latch", "looking at a latch does not count it down", func(b *testbed) {
		b.countsDownTo(b.latch(2), 1)
		for range 3 {
			b.countsDownTo(withoutAttempt(b.latch(2)), 1)
		}
		b.countsDownTo(b.latch(2), 0)
		b.countsDownTo(withoutAttempt(b.latch(2)), 0)
	}},
	{"latch", "an attempt that is repeated counts once", func(b *testbed) {
		r := b.latch(3)
		for range 3 {
			b.countsDownTo(r, 2)
		}
		b.countsDownTo(asRetry(r), 2)
		b.countsDownTo(b.latch(3), 1)
		b.countsDownTo(r, 1)
	}},
	{"latch", "an open latch stays open however often it is counted down", func(b *testbed) {
		r := b.latch(1)
		b.countsDownTo(r, 0)
		b.countsDownTo(r, 0)
		b.countsDownTo(b.latch(1), 0)
		b.countsDownTo(b.latch(1), 0)
		b.countsDownTo(withoutAttempt(b.latch(1)), 0)
	}},
	{"latch", "a latch keeps its first limit", func(b *testbed) {
		b.countsDownTo(b.latch(3), 2)
		b.countsDownTo(b.latch(1), 1)
		b.countsDownTo(withoutAttempt(b.latch(9)), 1)
		b.countsDownTo(b.latch(9), 0)
	}},
	{"latch", "a first look at a latch sets its limit", func(b *testbed) {
		b.countsDownTo(withoutAttempt(b.latch(2)), 2)
		b.countsDownTo(b.latch(5), 1)
	}},
	{"latch", "a latch expires one lease after the last count", func(b *testbed) {
		r := b.latch(2)
		b.countsDownTo(r, 1)
		b.sleepPastLease()
		b.countsDownTo(withoutAttempt(b.latch(3)), 3)
		b.countsDownTo(r, 2)
	}},
	{"latch", "an open latch expires one lease after the last call", func(b *testbed) {
		b.countsDownTo(b.latch(1), 0)
		b.sleepPastLease()
		b.countsDownTo(withoutAttempt(b.latch(1)), 1)
	}},
	{"latch", "a latch does not expire while it is counted down", func(b *testbed) {
		for want := 4; want >= 2; want-- {
			b.countsDownTo(b.latch(5), want)
			b.sleepMostOfLease()
		}
		b.countsDownTo(withoutAttempt(b.latch(5)), 2)
	}},
	{"latch", "a latch does not expire while callers look at it", func(b *testbed) {
		r := b.latch(3)
		b.countsDownTo(r, 2)
		for range 3 {
			b.sleepMostOfLease()
			b.countsDownTo(withoutAttempt(b.latch(3)), 2)
		}
		b.countsDownTo(r, 2)
	}},
	{"latch", "latches are independent", func(b *testbed) {
		one, two := b.latch(2), b.latch(3)
		two.Key += "two"
		b.countsDownTo(one, 1)
		b.countsDownTo(two, 2)
		b.countsDownTo(b.latch(2), 0)
		b.countsDownTo(two, 2)
	}},
	{"latch", "opening a latch notifies its listeners", func(b *testbed) {
		b.countsDownTo(b.latch(2), 1)
		var wakes []<-chan struct{}
		for range 3 {
			wake, stop := b.listen(withoutAttempt(b.latch(2)))
			defer stop()
			b.notified(wake)
			wakes = append(wakes, wake)
		}
		b.countsDownTo(b.latch(2), 0)
		for _, wake := range wakes {
			b.notified(wake)
		}
	}},
	{"latch", "a latch with a limit of zero or less is refused", func(b *testbed) {
		for _, limit := range []int{0, -1} {
			b.rejected(errOf(b.latcher().CountDown(b.ctx, b.latch(limit))))
			b.rejected(errOf(b.latcher().CountDown(b.ctx, withoutAttempt(b.latch(limit)))))
		}
		b.countsDownTo(withoutAttempt(b.latch(2)), 2)
	}},
	{"latch", "a count whose context is done changes nothing", func(b *testbed) {
		_, err := b.latcher().CountDown(b.doneContext(), b.latch(1))
		b.wantCanceled(err)
		b.countsDownTo(withoutAttempt(b.latch(1)), 1)
	}},
	{"latch", "concurrent counts are all counted", func(b *testbed) {
		const n = 20
		rs, lefts := make([]engine.Request, n), make([]int, n)
		for i := range rs {
			rs[i] = b.latch(n)
		}
		b.together(n, func(i int) {
			left, err := b.latcher().CountDown(b.ctx, rs[i])
			if err != nil {
				b.errorf("count %d: %v", i, err)
			}
			lefts[i] = left
		})
		slices.Sort(lefts)
		for i, left := range lefts {
			if left != i {
				b.fatalf("the answers are %d, want 0 to %d", lefts, n-1)
			}
		}
	}},
}

// latch returns a new count for the latch of most laws.
func (b *testbed) latch(limit int) engine.Request {
	b.latcher()
	r := b.ask(ann)
	r.Kind, r.Limit = engine.Latch, limit
	return r
}

// latcher returns the latcher of the engine. Without one it skips the law.
func (b *testbed) latcher() engine.Latcher {
	l := b.Capabilities().Latcher
	if l == nil {
		b.skip("the engine has no latcher")
	}
	return l
}

// withoutAttempt returns r without an attempt: it looks at a latch and does not count.
func withoutAttempt(r engine.Request) engine.Request {
	r.Attempt = ""
	return r
}

// countsDownTo sends r, and requires how many counts are left.
func (b *testbed) countsDownTo(r engine.Request, want int) {
	if left, err := b.latcher().CountDown(b.ctx, r); err != nil || left != want {
		b.fatalf("%d counts are left, error %v; want %d", left, err, want)
	}
}
