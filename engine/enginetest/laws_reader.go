package enginetest

import "github.com/interlock-go/interlock/engine"

// Each reader has a lease of its own, and no reader passes a writer who came
// before it: a crashed reader keeps nobody out for long, and readers who keep
// coming keep no writer out for ever. T1.
var readerLaws = []Law{
	{"reader", "a reader that crashed does not keep the lock although another renews", func(b *bench) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.passMost()
		b.renewed(c)
		b.pass(b.Lease * 7 / 10)
		b.leaves(c, engine.Released)
		b.granted(b.write(eve))
	}},
	{"reader", "a renewal by one reader does not prolong what another reads", func(b *bench) {
		a, c := b.read(ann), b.read(bob)
		b.granted(a)
		b.granted(c)
		b.passMost()
		b.renewed(c)
		b.pass(b.Lease * 7 / 10)
		b.unrenewed(a)
		b.renewed(c)
	}},
	{"reader", "a reader that comes later does not prolong what another reads", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		b.passMost()
		b.granted(b.read(bob))
		b.pass(b.Lease * 7 / 10)
		b.unrenewed(a)
		b.leaves(a, engine.NotYours)
	}},
	{"reader", "a reader that outlives another keeps writers out", func(b *bench) {
		b.granted(b.read(ann))
		b.granted(lasting(b.read(bob), 3*b.Lease))
		b.passAll()
		b.first(b.busy(b.write(eve)), bob)
	}},
	{"reader", "a reader with a short lease does not cut the lease of another", func(b *bench) {
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
	{"reader", "the leases of all readers run out", func(b *bench) {
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
	{"reader", "a writer that renews keeps readers out", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		b.passMost()
		b.renewed(a)
		b.passMost()
		b.busy(b.read(bob))
	}},
	{"reader", "what a writer reads outlives what it writes", func(b *bench) {
		write, read := b.write(ann), lasting(b.read(ann), 3*b.Lease)
		b.granted(write)
		b.granted(read)
		b.leaves(write, engine.Released)
		b.passAll()
		b.busy(b.write(bob))
		b.renewed(read)
	}},
	{"reader", "what a writer writes ends by itself although it goes on reading", func(b *bench) {
		b.readsOn()
		b.granted(b.read(bob))
		b.busy(b.write(eve))
	}},
	{"reader", "a write that ran out cannot be renewed although its writer goes on reading", func(b *bench) {
		write, read := b.readsOn()
		b.unrenewed(write)
		b.renewed(read)
		b.refused(b.write(ann), engine.ErrUpgrade)
	}},
	{"reader", "readers in line are let in when a write ran out although its writer goes on reading", func(b *bench) {
		write, read := b.write(ann), b.read(ann)
		b.granted(write)
		b.granted(read)
		c := b.linesUp(b.read(bob))
		b.passMost()
		b.renewed(read)
		b.busy(c)
		b.pass(b.Lease * 7 / 10)
		b.granted(c)
	}},
	{"reader", "a reader does not pass a writer who stands in line", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		c := b.linesUp(b.write(bob))
		b.busy(b.read(eve))
		d := b.linesUp(b.read(eve))
		b.leaves(a, engine.Released)
		b.busy(d)
		b.granted(c)
		b.leaves(c, engine.Released)
		b.granted(d)
	}},
	{"reader", "a reader refused for a writer who waits is told who reads", func(b *bench) {
		b.granted(b.read(ann))
		b.linesUp(b.write(bob))
		busy := b.busy(b.read(eve))
		b.first(busy, ann)
		b.ahead(busy, 1)
	}},
	{"reader", "a writer who does not stand in line keeps no reader out", func(b *bench) {
		b.granted(b.read(ann))
		b.busy(b.write(bob))
		b.granted(b.read(eve))
	}},
	{"reader", "readers who came before a writer in line are let in past it", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		before := b.linesUp(b.read(somebody(1)))
		writer := b.linesUp(b.write(bob))
		after := b.linesUp(b.read(somebody(2)))
		b.leaves(a, engine.Released)
		b.busy(after)
		b.granted(before)
		b.busy(after)
		b.busy(writer)
		b.leaves(before, engine.Released)
		b.granted(writer)
	}},
	{"reader", "a writer does not pass readers who stand in line before it", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		before := b.linesUp(b.read(eve))
		writer := b.linesUp(b.write(bob))
		b.leaves(a, engine.Released)
		b.first(b.busy(writer), eve)
		b.busy(b.write(somebody(1)))
		b.granted(before)
	}},
	{"reader", "readers in line do not keep out other readers", func(b *bench) {
		a := b.write(ann)
		b.granted(a)
		b.linesUp(b.read(bob))
		b.leaves(a, engine.Released)
		b.granted(b.read(eve))
	}},
	{"reader", "writers are granted the lock in the order in which they asked", func(b *bench) {
		a := b.forLong(b.read(ann))
		b.granted(a)
		line := b.lineOf(3, b.write)
		b.ahead(b.busy(line[2]), 2)
		b.leaves(a, engine.Released)
		b.servedInOrder(line)
	}},
	{"reader", "who reads may read again past a writer who waits", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		b.linesUp(b.write(bob))
		b.granted(again(a))
		b.granted(b.read(ann))
	}},
	{"reader", "who writes may read past a writer who waits", func(b *bench) {
		b.granted(b.write(ann))
		b.linesUp(b.write(bob))
		b.granted(b.read(ann))
	}},
	{"reader", "a writer that gives up its place lets readers in and tells them", func(b *bench) {
		for _, giveUp := range []func(engine.Request, engine.Outcome) engine.ReleaseResult{b.leaves, b.abandons} {
			a := b.read(ann)
			b.granted(a)
			writer, c := b.linesUp(b.write(bob)), b.linesUp(b.read(eve))
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
	{"reader", "a writer that nobody has heard of for a while keeps no reader out", func(b *bench) {
		a := b.forLong(b.read(ann))
		b.granted(a)
		b.busy(placed(b.write(bob), b.Lease))
		b.busy(b.read(eve))
		b.passAll()
		b.granted(b.read(eve))
	}},
	{"reader", "a writer in line whose turn it is waits for no reader that crashed", func(b *bench) {
		b.granted(b.read(ann))
		c := b.linesUp(b.write(bob))
		b.passAll()
		b.busy(b.read(eve))
		b.granted(c)
	}},
	{"reader", "a writer that is granted stands in line no more", func(b *bench) {
		a := b.read(ann)
		b.granted(a)
		c := b.linesUp(b.write(bob))
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
