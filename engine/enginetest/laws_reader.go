package enginetest

import "github.com/interlock-go/interlock/engine"

// Each reader has its own lease, so a crashed reader does not block for long. No reader
// overtakes a waiting writer, so new readers do not block a writer forever. T1.
var readerLaws = []Law{
	{"reader", "a crashed reader does not keep the lock although another renews", func(b *testbed) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.sleepMostOfLease()
		b.renewed(c)
		b.sleep(b.Lease * 7 / 10)
		b.releases(c, engine.Released)
		b.granted(b.write(eve))
	}},
	{"reader", "a renewal by one reader does not prolong another's lease", func(b *testbed) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.sleepMostOfLease()
		b.renewed(c)
		b.sleep(b.Lease * 7 / 10)
		b.notRenewed(a)
		b.renewed(c)
	}},
	{"reader", "a later reader does not prolong another's lease", func(b *testbed) {
		a := b.read(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.granted(b.read(bob))
		b.sleep(b.Lease * 7 / 10)
		b.notRenewed(a)
		b.releases(a, engine.NotYours)
	}},
	{"reader", "a reader that outlives another blocks writers", func(b *testbed) {
		b.granted(b.read(ann))
		b.granted(withLease(b.read(bob), 3*b.Lease))
		b.sleepPastLease()
		b.first(b.busy(b.write(eve)), bob)
	}},
	{"reader", "a reader with a short lease does not shorten the lease of another", func(b *testbed) {
		a, c := withLease(b.read(ann), 3*b.Lease), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.renewed(c)
		b.sleepPastLease()
		b.first(b.busy(b.write(eve)), ann)
		b.renewed(a)
	}},
	{"reader", "the release of a reader does not shorten the lease of another", func(b *testbed) {
		a, c := b.read(ann), withLease(b.read(bob), 3*b.Lease)
		b.granted(c)
		b.granted(a)
		b.releases(a, engine.Released)
		b.sleepPastLease()
		b.first(b.busy(b.write(eve)), bob)
	}},
	{"reader", "the leases of all readers expire", func(b *testbed) {
		b.granted(b.read(ann))
		b.granted(b.read(bob))
		b.sleepPastLease()
		b.granted(b.write(eve))
	}},
	{"reader", "the lease of a writer expires", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		b.sleepPastLease()
		b.granted(b.read(bob))
		b.notRenewed(a)
	}},
	{"reader", "a writer that renews blocks readers", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		b.sleepMostOfLease()
		b.renewed(a)
		b.sleepMostOfLease()
		b.busy(b.read(bob))
	}},
	{"reader", "the read hold of a writer outlives its write hold", func(b *testbed) {
		write, read := b.write(ann), withLease(b.read(ann), 3*b.Lease)
		b.granted(write)
		b.granted(read)
		b.releases(write, engine.Released)
		b.sleepPastLease()
		b.busy(b.write(bob))
		b.renewed(read)
	}},
	{"reader", "the write hold of a writer expires although its read hold is renewed", func(b *testbed) {
		b.writerKeepsReading()
		b.granted(b.read(bob))
		b.busy(b.write(eve))
	}},
	{"reader", "an expired write hold cannot be renewed although its writer still reads", func(b *testbed) {
		write, read := b.writerKeepsReading()
		b.notRenewed(write)
		b.renewed(read)
		b.refused(b.write(ann), engine.ErrUpgrade)
	}},
	{"reader", "waiting readers are granted when a write hold expired although its writer still reads", func(b *testbed) {
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		c := b.queued(b.read(bob))
		b.sleepMostOfLease()
		b.renewed(read)
		b.busy(c)
		b.sleep(b.Lease * 7 / 10)
		b.granted(c)
	}},
	{"reader", "a reader does not overtake a waiting writer", func(b *testbed) {
		a := b.read(ann)
		b.granted(a)
		c := b.queued(b.write(bob))
		b.busy(b.read(eve))
		d := b.queued(b.read(eve))
		b.releases(a, engine.Released)
		b.busy(d)
		b.granted(c)
		b.releases(c, engine.Released)
		b.granted(d)
	}},
	{"reader", "a refusal because of a waiting writer names a current reader", func(b *testbed) {
		b.granted(b.read(ann))
		b.queued(b.write(bob))
		busy := b.busy(b.read(eve))
		b.first(busy, ann)
		b.ahead(busy, 1)
	}},
	{"reader", "a writer that is not queued blocks no reader", func(b *testbed) {
		b.granted(b.read(ann))
		b.busy(b.write(bob))
		b.granted(b.read(eve))
	}},
	{"reader", "readers that were queued before a writer are granted before it", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		before := b.queued(b.read(caller(1)))
		writer := b.queued(b.write(bob))
		after := b.queued(b.read(caller(2)))
		b.releases(a, engine.Released)
		b.busy(after)
		b.granted(before)
		b.busy(after)
		b.busy(writer)
		b.releases(before, engine.Released)
		b.granted(writer)
	}},
	{"reader", "a writer does not overtake readers queued before it", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		before := b.queued(b.read(eve))
		writer := b.queued(b.write(bob))
		b.releases(a, engine.Released)
		b.first(b.busy(writer), eve)
		b.busy(b.write(caller(1)))
		b.granted(before)
	}},
	{"reader", "waiting readers do not block other readers", func(b *testbed) {
		a := b.write(ann)
		b.granted(a)
		b.queued(b.read(bob))
		b.releases(a, engine.Released)
		b.granted(b.read(eve))
	}},
	{"reader", "writers are granted the lock in order of arrival", func(b *testbed) {
		a := b.withLongLease(b.read(ann))
		b.granted(a)
		queue := b.queueOf(3, b.write)
		b.ahead(b.busy(queue[2]), 2)
		b.releases(a, engine.Released)
		b.servedInOrder(queue)
	}},
	{"reader", "a reader may enter again past a waiting writer", func(b *testbed) {
		a := b.read(ann)
		b.granted(a)
		b.queued(b.write(bob))
		b.granted(asRetry(a))
		b.granted(b.read(ann))
	}},
	{"reader", "a writer may read past a waiting writer", func(b *testbed) {
		b.granted(b.write(ann))
		b.queued(b.write(bob))
		b.granted(b.read(ann))
	}},
	{"reader", "a writer that gives up its position lets readers in and notifies them", func(b *testbed) {
		for _, giveUp := range []func(engine.Request, engine.Outcome) engine.ReleaseResult{b.releases, b.abandons} {
			a := b.read(ann)
			b.granted(a)
			writer, c := b.queued(b.write(bob)), b.queued(b.read(eve))
			wake, stop := b.listen(c)
			defer stop()
			b.notified(wake)
			b.busy(c)
			giveUp(writer, engine.NotYours)
			b.notified(wake)
			b.granted(c)
			b.releases(c, engine.Released)
			b.releases(a, engine.Released)
		}
	}},
	{"reader", "a writer whose position expired blocks no reader", func(b *testbed) {
		a := b.withLongLease(b.read(ann))
		b.granted(a)
		b.busy(withQueueLease(b.write(bob), b.Lease))
		b.busy(b.read(eve))
		b.sleepPastLease()
		b.granted(b.read(eve))
	}},
	{"reader", "the first waiting writer does not wait for a crashed reader", func(b *testbed) {
		b.granted(b.read(ann))
		c := b.queued(b.write(bob))
		b.sleepPastLease()
		b.busy(b.read(eve))
		b.granted(c)
	}},
	{"reader", "a granted writer is no longer queued", func(b *testbed) {
		a := b.read(ann)
		b.granted(a)
		c := b.queued(b.write(bob))
		b.releases(a, engine.Released)
		b.granted(c)
		b.ahead(b.busy(b.read(eve)), 0)
		b.releases(c, engine.Released)
		b.granted(b.read(eve))
	}},
}

// writerKeepsReading returns the holds of a writer that also reads, and renews only the
// read hold until the write hold has expired.
func (b *testbed) writerKeepsReading() (write, read engine.Request) {
	write, read = b.write(ann), b.read(ann)
	b.granted(write)
	b.granted(read)
	b.sleepMostOfLease()
	b.renewed(read)
	b.sleep(b.Lease * 7 / 10)
	return write, read
}
