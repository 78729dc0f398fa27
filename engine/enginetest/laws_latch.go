package enginetest

import (
	"slices"

	"github.com/interlock-go/interlock/engine"
)

// When a latch opens: T1.
var latchLaws = []Law{
	{"latch", "a latch opens after as many counts as its limit", func(b *bench) {
		for _, want := range []int{2, 1, 0} {
			b.counted(b.latch(3), want)
		}
	}},
	{"latch", "a new latch is closed", func(b *bench) {
		b.counted(looking(b.latch(3)), 3)
	}},
	{"latch", "looking at a latch does not count it down", func(b *bench) {
		b.counted(b.latch(2), 1)
		for range 3 {
			b.counted(looking(b.latch(2)), 1)
		}
		b.counted(b.latch(2), 0)
		b.counted(looking(b.latch(2)), 0)
	}},
	{"latch", "an attempt that is repeated counts once", func(b *bench) {
		r := b.latch(3)
		for range 3 {
			b.counted(r, 2)
		}
		b.counted(again(r), 2)
		b.counted(b.latch(3), 1)
		b.counted(r, 1)
	}},
	{"latch", "an open latch stays open however often it is counted down", func(b *bench) {
		r := b.latch(1)
		b.counted(r, 0)
		b.counted(r, 0)
		b.counted(b.latch(1), 0)
		b.counted(b.latch(1), 0)
		b.counted(looking(b.latch(1)), 0)
	}},
	{"latch", "the first limit of a latch counts", func(b *bench) {
		b.counted(b.latch(3), 2)
		b.counted(b.latch(1), 1)
		b.counted(looking(b.latch(9)), 1)
		b.counted(b.latch(9), 0)
	}},
	{"latch", "the limit of a first look counts", func(b *bench) {
		b.counted(looking(b.latch(2)), 2)
		b.counted(b.latch(5), 1)
	}},
	{"latch", "a latch expires one lease after the last count", func(b *bench) {
		r := b.latch(2)
		b.counted(r, 1)
		b.passAll()
		b.counted(looking(b.latch(3)), 3)
		b.counted(r, 2)
	}},
	{"latch", "an open latch expires one lease after the last call", func(b *bench) {
		b.counted(b.latch(1), 0)
		b.passAll()
		b.counted(looking(b.latch(1)), 1)
	}},
	{"latch", "a latch does not expire while it is counted down", func(b *bench) {
		for want := 4; want >= 2; want-- {
			b.counted(b.latch(5), want)
			b.passMost()
		}
		b.counted(looking(b.latch(5)), 2)
	}},
	{"latch", "a latch does not expire while callers look at it", func(b *bench) {
		r := b.latch(3)
		b.counted(r, 2)
		for range 3 {
			b.passMost()
			b.counted(looking(b.latch(3)), 2)
		}
		b.counted(r, 2)
	}},
	{"latch", "latches are independent", func(b *bench) {
		one, two := b.latch(2), b.latch(3)
		two.Key += "two"
		b.counted(one, 1)
		b.counted(two, 2)
		b.counted(b.latch(2), 0)
		b.counted(two, 2)
	}},
	{"latch", "opening a latch notifies its listeners", func(b *bench) {
		b.counted(b.latch(2), 1)
		var wakes []<-chan struct{}
		for range 3 {
			wake, stop := b.listen(looking(b.latch(2)))
			defer stop()
			b.told(wake)
			wakes = append(wakes, wake)
		}
		b.counted(b.latch(2), 0)
		for _, wake := range wakes {
			b.told(wake)
		}
	}},
	{"latch", "a latch with a limit of zero or less is refused", func(b *bench) {
		for _, limit := range []int{0, -1} {
			b.rejected(second(b.latcher().CountDown(b.ctx, b.latch(limit))))
			b.rejected(second(b.latcher().CountDown(b.ctx, looking(b.latch(limit)))))
		}
		b.counted(looking(b.latch(2)), 2)
	}},
	{"latch", "a count whose context is done changes nothing", func(b *bench) {
		_, err := b.latcher().CountDown(b.done(), b.latch(1))
		b.cancelled(err)
		b.counted(looking(b.latch(1)), 1)
	}},
	{"latch", "concurrent counts are all counted", func(b *bench) {
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

// latch is one count of the latch that most laws are content with.
func (b *bench) latch(limit int) engine.Request {
	b.latcher()
	r := b.ask(ann)
	r.Kind, r.Limit = engine.Latch, limit
	return r
}

// latcher is the engine's. Without one it skips the law.
func (b *bench) latcher() engine.Latcher {
	l := b.Capabilities().Latcher
	if l == nil {
		b.skip("the engine has no latcher")
	}
	return l
}

// looking is r as one sends it who does not count.
func looking(r engine.Request) engine.Request {
	r.Attempt = ""
	return r
}

// counted demands what is missing after r was sent.
func (b *bench) counted(r engine.Request, want int) {
	if left, err := b.latcher().CountDown(b.ctx, r); err != nil || left != want {
		b.fatalf("%d are missing, error %v; want %d", left, err, want)
	}
}
