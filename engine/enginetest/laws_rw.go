package enginetest

import (
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Readers and writers: T1's read and write locks, and T14's stock.
var rwLaws = []Law{
	{"rw", "readers share a lock", func(b *testbed) {
		rs := []engine.Request{b.read(ann), b.read(bob), b.read(eve)}
		for _, r := range rs {
			if g := b.granted(r); g.Count != 1 || g.Fence == 0 {
				b.errorf("got %+v, want a count of 1 and a fence", g)
			}
		}
		for _, r := range rs {
			b.renewed(r)
			b.releases(r, engine.Released)
		}
		b.granted(b.write(ann))
	}},
	{"rw", "a writer blocks readers", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		b.busy(b.read(bob))
		b.releases(a, engine.Released)
		b.granted(b.read(bob))
	}},
	{"rw", "a writer blocks writers", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		b.busy(b.write(bob))
		b.releases(a, engine.Released)
		b.granted(b.write(bob))
	}},
	{"rw", "readers block writers until the last one releases", func(b *testbed) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.busy(b.write(eve))
		b.releases(a, engine.Released)
		b.busy(b.write(eve))
		b.releases(c, engine.Released)
		b.granted(b.write(eve))
	}},
	{"rw", "a refusal names the writer and how much of its lease is left", func(b *testbed) {
		b.granted(b.write(ann))
		busy := b.busy(b.read(bob))
		b.first(busy, ann)
		if busy.Left <= 0 || busy.Left > b.Lease {
			b.errorf("Left is %v, want more than 0 and at most the lease of %v", busy.Left, b.Lease)
		}
	}},
	{"rw", "a refusal names a reader and how much of its lease is left", func(b *testbed) {
		b.granted(b.read(ann))
		b.granted(b.read(bob))
		busy := b.busy(b.write(eve))
		b.first(busy, ann, bob)
		if busy.Left <= 0 || busy.Left > b.Lease {
			b.errorf("Left is %v, want more than 0 and at most the lease of %v", busy.Left, b.Lease)
		}
	}},
	{"rw", "a reader's attempt that is repeated is one hold with one fence", func(b *testbed) {
		a := b.read(ann)
		b.granted(b.read(bob))
		first := b.granted(a)
		b.granted(b.read(eve))
		if second := b.granted(asRetry(a)); second != first {
			b.errorf("the grant went from %+v to %+v", first, second)
		}
		b.releases(a, engine.Released)
		b.releases(a, engine.NotYours)
	}},
	{"rw", "a writer's attempt that is repeated is one hold with one fence", func(b *testbed) {
		a := b.write(ann)
		first := b.granted(a)
		if second := b.granted(asRetry(a)); second != first || first.Count != 1 {
			b.errorf("the grant went from %+v to %+v, want a count of 1", first, second)
		}
		b.releases(a, engine.Released)
		b.granted(b.write(bob))
	}},
	{"rw", "a named owner that reads may read again and is counted", func(b *testbed) {
		one, two := b.read(ann), b.read(ann)
		first := b.granted(one)
		if second := b.granted(two); second.Count != 2 || second.Fence != first.Fence {
			b.errorf("got %+v after %+v, want a count of 2 and the same fence", second, first)
		}
		if p := b.releases(one, engine.Released); p.Count != 1 {
			b.errorf("%d holds are left, want 1", p.Count)
		}
		b.busy(b.write(bob))
		b.releases(two, engine.Released)
		b.granted(b.write(bob))
	}},
	{"rw", "a released hold is not renewed although its holder still reads or writes", func(b *testbed) {
		for _, ask := range []func(string) engine.Request{b.read, b.write} {
			one, two := ask(ann), ask(ann)
			b.granted(one)
			b.granted(two)
			b.releases(one, engine.Released)
			b.notRenewed(one)
			b.renewed(two)
			b.releases(two, engine.Released)
		}
	}},
	{"rw", "a named owner that writes may write again and is counted", func(b *testbed) {
		one, two := b.write(ann), b.write(ann)
		first := b.granted(one)
		if second := b.granted(two); second.Count != 2 || second.Fence != first.Fence {
			b.errorf("got %+v after %+v, want a count of 2 and the same fence", second, first)
		}
		b.releases(one, engine.Released)
		b.busy(b.write(bob))
		b.releases(two, engine.Released)
		b.granted(b.write(bob))
	}},
	{"rw", "the release of one reader leaves the others", func(b *testbed) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.releases(a, engine.Released)
		b.notRenewed(a)
		b.renewed(c)
		b.first(b.busy(b.write(eve)), bob)
	}},
	{"rw", "a reader cannot end the hold of another", func(b *testbed) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.releases(c, engine.NotYours)
		b.notRenewed(c)
		b.busy(b.write(eve))
		b.renewed(a)
	}},
	{"rw", "a second release by a reader finds the lock already free", func(b *testbed) {
		a := b.read(ann)
		b.releases(a, engine.AlreadyFree)
		b.granted(a)
		b.releases(a, engine.Released)
		b.releases(a, engine.AlreadyFree)
	}},
	{"rw", "an abandoned read frees the lock and stays refused", func(b *testbed) {
		a := b.read(ann)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.refused(asRetry(a), engine.ErrAbandoned)
		b.granted(b.write(bob))
	}},
	{"rw", "an abandoned write frees the lock and stays refused", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.refused(asRetry(a), engine.ErrAbandoned)
		b.granted(b.read(bob))
	}},
	{"rw", "the fence of a writer is above the fences of earlier readers", func(b *testbed) {
		b.fencesRiseFrom(engine.Read, engine.Write)
	}},
	{"rw", "the fence of a reader is above that of the writer before it", func(b *testbed) {
		b.fencesRiseFrom(engine.Write, engine.Read)
	}},
	{"rw", "the fences of writers rise", func(b *testbed) {
		b.fencesRiseFrom(engine.Write, engine.Write)
	}},
	{"rw", "a reader that asks to write is refused with ErrUpgrade", func(b *testbed) {
		a := b.read(ann)
		b.granted(a)
		b.refused(b.write(ann), engine.ErrUpgrade)
		b.refused(withQueueLease(b.write(ann), 50*b.Lease), engine.ErrUpgrade)
		b.granted(b.read(bob)) // the queue is empty
		b.renewed(a)
	}},
	{"rw", "a writer may read", func(b *testbed) {
		first := b.granted(b.write(ann))
		second := b.granted(b.read(ann))
		if second.Fence != first.Fence {
			b.errorf("the fence went from %d to %d", first.Fence, second.Fence)
		}
		b.busy(b.read(bob))
	}},
	{"rw", "a writer that also reads may enter as a writer again", func(b *testbed) {
		one, two, read := b.write(ann), b.write(ann), b.read(ann)
		b.granted(one)
		b.granted(read)
		b.granted(asRetry(one))
		b.granted(two)
		b.releases(one, engine.Released)
		b.busy(b.read(bob))
		b.releases(two, engine.Released)
		b.granted(b.read(bob))
	}},
	{"rw", "a writer that releases its write hold keeps its read hold", func(b *testbed) {
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		before := b.granted(read)
		b.releases(write, engine.Released)
		b.busy(b.write(bob))
		b.granted(b.read(bob))
		b.renewed(read)
		if after := b.granted(asRetry(read)); after.Fence != before.Fence {
			b.errorf("the fence went from %d to %d", before.Fence, after.Fence)
		}
		b.refused(b.write(ann), engine.ErrUpgrade)
	}},
	{"rw", "a writer that releases its read hold keeps its write hold", func(b *testbed) {
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		b.releases(read, engine.Released)
		b.notRenewed(read)
		b.renewed(write)
		b.busy(b.read(bob))
		b.releases(write, engine.Released)
		b.granted(b.write(bob))
	}},
	{"rw", "a writer that downgrades notifies waiting readers", func(b *testbed) {
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		c := b.queued(b.read(bob))
		wake, stop := b.listen(c)
		defer stop()
		b.notified(wake)
		b.releases(write, engine.Released)
		b.notified(wake)
		b.granted(c)
	}},
	{"rw", "a release by a writer notifies all waiting readers", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		queue := b.queueOf(3, b.read)
		var wakes []<-chan struct{}
		for _, r := range queue {
			wake, stop := b.listen(r)
			defer stop()
			b.notified(wake)
			wakes = append(wakes, wake)
		}
		b.releases(a, engine.Released)
		for i, wake := range wakes {
			b.notified(wake)
			b.granted(queue[i])
		}
	}},
	{"rw", "a release by the last reader notifies a waiting writer", func(b *testbed) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		d := b.queued(b.write(eve))
		wake, stop := b.listen(d)
		defer stop()
		b.notified(wake)
		b.releases(a, engine.Released)
		drain(wake)
		b.releases(c, engine.Released)
		b.notified(wake)
		b.granted(d)
	}},
	{"rw", "one reader more than MaxReaders is refused with ErrFull", func(b *testbed) {
		b.ignoringTime(func() {
			rs := make([]engine.Request, engine.MaxReaders)
			for i := range rs {
				rs[i] = b.withLongLease(b.read(caller(i)))
			}
			for from := 0; from < len(rs); from += 100 {
				b.together(100, func(i int) {
					if _, err := b.Acquire(b.ctx, rs[from+i]); err != nil {
						b.errorf("reader %d: %v", from+i, err)
					}
				})
			}
			b.refused(withQueueLease(b.read(eve), 50*b.Lease), engine.ErrFull)
			b.releases(rs[0], engine.Released)
			b.granted(b.read(eve))
		})
	}},
	{"rw", "there is never a reader beside a writer", func(b *testbed) {
		var readers, writers atomic.Int32
		b.competeAs([]engine.Kind{engine.Read, engine.Read, engine.Write}, 0, func(r engine.Request) {
			mine, others := &readers, &writers
			if r.Kind == engine.Write {
				mine, others = &writers, &readers
			}
			if n := mine.Add(1); others.Load() > 0 || r.Kind == engine.Write && n > 1 {
				b.errorf("a %s hold overlaps with others", r.Kind)
			}
			time.Sleep(time.Millisecond) // lets others try to enter
			mine.Add(-1)
		})
	}},
}

// fencesRiseFrom requires that a holder of the second kind has a larger fence than the
// holders of the first kind before it, with and without Fenced.
func (b *testbed) fencesRiseFrom(first, second engine.Kind) {
	for _, variant := range []func(engine.Request) engine.Request{plain, fenced} {
		a, c, d := variant(b.askAs(first, ann)), variant(b.askAs(first, bob)), variant(b.askAs(second, eve))
		last := b.granted(a).Fence
		if first == engine.Read {
			last = max(last, b.granted(c).Fence)
			b.releases(c, engine.Released)
		}
		b.releases(a, engine.Released)
		if g := b.granted(d); g.Fence <= last {
			b.errorf("the fence went from %d to %d", last, g.Fence)
		}
		b.releases(d, engine.Released)
	}
}
