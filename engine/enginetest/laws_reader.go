package enginetest

import "github.com/interlock-go/interlock/engine"

// Each reader has a lease of its own, and no reader overtakes a writer that came
// before it: a crashed reader does not block for long, and new readers do
// not block a writer for ever. T1.
var readerLaws = []Law{
	{"reader", "a crashed reader does not keep the lock although another renews", func(b *bench) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.passMost()
		b.renewed(c)
		b.pass(b.Lease * 7 / 10)
		b.leaves(c, engine.Released)
		b.granted(b.write(eve))
	}},
	{"reader", "a renewal by one reader does not prolong another's lease", func(b *bench) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.passMost()
		b.renewed(c)
		b.pass(b.Lease * 7 / 10)
		b.unrenewed(a)
		b.renewed(c)
	}},
	{"reader", "a later reader does not prolong another's lease", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		b.passMost()
		b.granted(b.read(bob))
		b.pass(b.Lease * 7 / 10)
		b.unrenewed(a)
		b.leaves(a, engine.NotYours)
	}},
	{"reader", "a reader that outlives another blocks writers", func(b *bench) {
		b.granted(b.read(ann))
		b.granted(lasting(b.read(bob), 3*b.Lease))
		b.passAll()
		b.first(b.busy(b.write(eve)), bob)
	}},
	{"reader", "a reader with a short lease does not shorten the lease of another", func(b *bench) {
		a, c := lasting(b.read(ann), 3*b.Lease), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.renewed(c)
		b.passAll()
		b.first(b.busy(b.write(eve)), ann)
		b.renewed(a)
	}},
	{"reader", "the release of a reader does not cut the lease of another", func(b *bench) {
		a, c := b.read(ann), lasting(b.read(bob), 3*b.Lease)
		b.granted(c)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.passAll()
		b.first(b.busy(b.write(eve)), bob)
	}},
	{"reader", "the leases of all readers expire", func(b *bench) {
		b.granted(b.read(ann))
		b.granted(b.read(bob))
		b.passAll()
		b.granted(b.write(eve))
	}},
	{"reader", "the lease of a writer runs out", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		b.passAll()
		b.granted(b.read(bob))
		b.unrenewed(a)
	}},
	{"reader", "a writer that renews blocks readers", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		b.passMost()
		b.renewed(a)
		b.passMost()
		b.busy(b.read(bob))
	}},
	{"reader", "the read hold of a writer outlives its write hold", func(b *bench) {
		write, read := b.write(ann), lasting(b.read(ann), 3*b.Lease)
		b.granted(write)
		b.granted(read)
		b.leaves(write, engine.Released)
		b.passAll()
		b.busy(b.write(bob))
		b.renewed(read)
	}},
	{"reader", "the write hold of a writer expires although its read hold is renewed", func(b *bench) {
		b.readsOn()
		b.granted(b.read(bob))
		b.busy(b.write(eve))
	}},
	{"reader", "an expired write hold cannot be renewed although its writer still reads", func(b *bench) {
		write, read := b.readsOn()
		b.unrenewed(write)
		b.renewed(read)
		b.refused(b.write(ann), engine.ErrUpgrade)
	}},
	{"reader", "waiting readers are granted when a write hold expired although its writer still reads", func(b *bench) {
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		c := b.queued(b.read(bob))
		b.passMost()
		b.renewed(read)
		b.busy(c)
		b.pass(b.Lease * 7 / 10)
		b.granted(c)
	}},
	{"reader", "a reader does not overtake a waiting writer", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		c := b.queued(b.write(bob))
		b.busy(b.read(eve))
		d := b.queued(b.read(eve))
		b.leaves(a, engine.Released)
		b.busy(d)
		b.granted(c)
		b.leaves(c, engine.Released)
		b.granted(d)
	}},
	{"reader", "a reader refused for a waiting writer learns a current reader", func(b *bench) {
		b.granted(b.read(ann))
		b.queued(b.write(bob))
		busy := b.busy(b.read(eve))
		b.first(busy, ann)
		b.ahead(busy, 1)
	}},
	{"reader", "a writer that is not queued blocks no reader", func(b *bench) {
		b.granted(b.read(ann))
		b.busy(b.write(bob))
		b.granted(b.read(eve))
	}},
	{"reader", "readers that were queued before a writer are granted before it", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		before := b.queued(b.read(caller(1)))
		writer := b.queued(b.write(bob))
		after := b.queued(b.read(caller(2)))
		b.leaves(a, engine.Released)
		b.busy(after)
		b.granted(before)
		b.busy(after)
		b.busy(writer)
		b.leaves(before, engine.Released)
		b.granted(writer)
	}},
	{"reader", "a writer does not overtake readers queued before it", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		before := b.queued(b.read(eve))
		writer := b.queued(b.write(bob))
		b.leaves(a, engine.Released)
		b.first(b.busy(writer), eve)
		b.busy(b.write(caller(1)))
		b.granted(before)
	}},
	{"reader", "waiting readers do not block other readers", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		b.queued(b.read(bob))
		b.leaves(a, engine.Released)
		b.granted(b.read(eve))
	}},
	{"reader", "writers are granted the lock in the order in which they asked", func(b *bench) {
		a := b.forLong(b.read(ann))
		b.granted(a)
		line := b.queueOf(3, b.write)
		b.ahead(b.busy(line[2]), 2)
		b.leaves(a, engine.Released)
		b.servedInOrder(line)
	}},
	{"reader", "a reader may read again past a waiting writer", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		b.queued(b.write(bob))
		b.granted(again(a))
		b.granted(b.read(ann))
	}},
	{"reader", "a writer may read past a waiting writer", func(b *bench) {
		b.granted(b.write(ann))
		b.queued(b.write(bob))
		b.granted(b.read(ann))
	}},
	{"reader", "a writer that gives up its position lets readers in and notifies them", func(b *bench) {
		for _, giveUp := range []func(engine.Request, engine.Outcome) engine.ReleaseResult{b.leaves, b.abandons} {
			a := b.read(ann)
			b.granted(a)
			writer, c := b.queued(b.write(bob)), b.queued(b.read(eve))
			wake, stop := b.listen(c)
			defer stop()
			b.told(wake)
			b.busy(c)
			giveUp(writer, engine.NotYours)
			b.told(wake)
			b.granted(c)
			b.leaves(c, engine.Released)
			b.leaves(a, engine.Released)
		}
	}},
	{"reader", "a writer whose position expired blocks no reader", func(b *bench) {
		a := b.forLong(b.read(ann))
		b.granted(a)
		b.busy(withQueueLease(b.write(bob), b.Lease))
		b.busy(b.read(eve))
		b.passAll()
		b.granted(b.read(eve))
	}},
	{"reader", "the first waiting writer does not wait for a crashed reader", func(b *bench) {
		b.granted(b.read(ann))
		c := b.queued(b.write(bob))
		b.passAll()
		b.busy(b.read(eve))
		b.granted(c)
	}},
	{"reader", "a granted writer is no longer queued", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		c := b.queued(b.write(bob))
		b.leaves(a, engine.Released)
		b.granted(c)
		b.ahead(b.busy(b.read(eve)), 0)
		b.leaves(c, engine.Released)
		b.granted(b.read(eve))
	}},
}

// readsOn is a writer that reads and renews only that, until the write has run out.
func (b *bench) readsOn() (write, read engine.Request) {
	write, read = b.write(ann), b.read(ann)
	b.granted(write)
	b.granted(read)
	b.passMost()
	b.renewed(read)
	b.pass(b.Lease * 7 / 10)
	return write, read
}
