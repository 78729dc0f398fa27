package enginetest

import "github.com/interlock-go/interlock/engine"

// When those who wait for an outcome are told to look. As with locks only what
// must arrive is a law.
var watchLaws = []Law{
	{"watch", "a new watcher is notified at once", func(b *bench) {
		wake, stop := b.watch(b.claim())
		defer stop()
		b.told(wake)
	}},
	{"watch", "every settlement notifies watchers", func(b *bench) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			c := b.claimOf(o.String())
			wake, stop := b.watch(c)
			defer stop()
			b.told(wake)
			b.begins(c)
			b.settles(settled(c, o), engine.Released)
			b.told(wake)
			b.is(c, o)
		}
	}},
	{"watch", "an outcome without retention notifies watchers", func(b *bench) {
		c := b.claim()
		wake, stop := b.watch(c)
		defer stop()
		b.told(wake)
		b.begins(c)
		b.pass(b.Lease / 4)
		b.settles(fromStart(settled(c, engine.Done), b.Lease/10), engine.Released)
		b.told(wake)
	}},
	{"watch", "an abandoned claim notifies watchers", func(b *bench) {
		c := b.claim()
		wake, stop := b.watch(c)
		defer stop()
		b.told(wake)
		b.begins(c)
		b.settles(undone(c), engine.Released)
		b.told(wake)
	}},
	{"watch", "a claim abandoned after it expired notifies watchers", func(b *bench) {
		c := short(b, b.claim())
		wake, stop := b.watch(c)
		defer stop()
		b.told(wake)
		b.begins(c)
		b.pass(b.Lease / 4)
		b.is(c, engine.Unknown)
		drain(wake)
		b.settles(undone(c), engine.Released)
		b.told(wake)
	}},
	{"watch", "all watchers are notified", func(b *bench) {
		c := b.claim()
		var wakes []<-chan struct{}
		for range 10 {
			wake, stop := b.watch(c)
			defer stop()
			b.told(wake)
			wakes = append(wakes, wake)
		}
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		for _, wake := range wakes {
			b.told(wake)
		}
	}},
	{"watch", "watchers of different records are independent", func(b *bench) {
		one, two := b.claimOf("one"), b.claimOf("two")
		wakeOne, stopOne := b.watch(one)
		defer stopOne()
		wakeTwo, stopTwo := b.watch(two)
		defer stopTwo()
		b.told(wakeOne)
		b.told(wakeTwo)
		for c, wake := range map[engine.Claim]<-chan struct{}{one: wakeOne, two: wakeTwo} {
			b.begins(c)
			b.settles(settled(c, engine.Done), engine.Released)
			b.told(wake)
		}
	}},
	{"watch", "a stopped watcher is no longer notified", func(b *bench) {
		c := b.claim()
		wake, stop := b.watch(c)
		b.told(wake)
		stop()
		b.pass(b.Lease / 4) // pending notifications have arrived
		drain(wake)
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		b.pass(b.Lease / 4)
		if drain(wake) {
			b.errorf("a settlement was told to one who had stopped watching")
		}
	}},
	{"watch", "stopping a watcher twice does not stop another", func(b *bench) {
		c := b.claim()
		_, stopOne := b.watch(c)
		wake, stop := b.watch(c)
		defer stop()
		b.told(wake)
		stopOne()
		stopOne()
		b.begins(c)
		b.settles(settled(c, engine.Done), engine.Released)
		b.told(wake)
	}},
	{"watch", "a watcher that does not read blocks no other", func(b *bench) {
		_, stop := b.watch(b.claim())
		defer stop()
		for range 20 {
			c := b.claim()
			b.begins(c)
			b.settles(settled(c, engine.Absent), engine.Released)
		}
	}},
}

// watch begins to watch the record that c is about.
func (b *bench) watch(c engine.Claim) (wake <-chan struct{}, stop func()) {
	return b.ledger().Watch(c.Key)
}
