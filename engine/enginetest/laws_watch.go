package enginetest

import "github.com/interlock-go/interlock/engine"

// Notifications of callers that wait for an outcome. As with locks, the laws say only
// which notifications must arrive.
var watchLaws = []Law{
	{"watch", "a new watcher is notified at once", func(b *testbed) {
		wake, stop := b.watch(b.claim())
		defer stop()
		b.notified(wake)
	}},
	{"watch", "every settlement notifies watchers", func(b *testbed) {
		for _, o := range []engine.State{engine.Done, engine.Failed, engine.Unknown, engine.Absent} {
			c := b.claimOf(o.String())
			wake, stop := b.watch(c)
			defer stop()
			b.notified(wake)
			b.claimGranted(c)
			b.settles(settlement(c, o), engine.Released)
			b.notified(wake)
			b.recordIs(c, o)
		}
	}},
	{"watch", "an outcome without retention notifies watchers", func(b *testbed) {
		c := b.claim()
		wake, stop := b.watch(c)
		defer stop()
		b.notified(wake)
		b.claimGranted(c)
		b.sleep(b.Lease / 4)
		b.settles(retainedFromStart(settlement(c, engine.Done), b.Lease/10), engine.Released)
		b.notified(wake)
	}},
	{"watch", "an abandoned claim notifies watchers", func(b *testbed) {
		c := b.claim()
		wake, stop := b.watch(c)
		defer stop()
		b.notified(wake)
		b.claimGranted(c)
		b.settles(abandonment(c), engine.Released)
		b.notified(wake)
	}},
	{"watch", "a claim abandoned after it expired notifies watchers", func(b *testbed) {
		c := withShortLease(b, b.claim())
		wake, stop := b.watch(c)
		defer stop()
		b.notified(wake)
		b.claimGranted(c)
		b.sleep(b.Lease / 4)
		b.recordIs(c, engine.Unknown)
		drain(wake)
		b.settles(abandonment(c), engine.Released)
		b.notified(wake)
	}},
	{"watch", "all watchers are notified", func(b *testbed) {
		c := b.claim()
		var wakes []<-chan struct{}
		for range 10 {
			wake, stop := b.watch(c)
			defer stop()
			b.notified(wake)
			wakes = append(wakes, wake)
		}
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		for _, wake := range wakes {
			b.notified(wake)
		}
	}},
	{"watch", "watchers of different records are independent", func(b *testbed) {
		one, two := b.claimOf("one"), b.claimOf("two")
		wakeOne, stopOne := b.watch(one)
		defer stopOne()
		wakeTwo, stopTwo := b.watch(two)
		defer stopTwo()
		b.notified(wakeOne)
		b.notified(wakeTwo)
		for c, wake := range map[engine.Claim]<-chan struct{}{one: wakeOne, two: wakeTwo} {
			b.claimGranted(c)
			b.settles(settlement(c, engine.Done), engine.Released)
			b.notified(wake)
		}
	}},
	{"watch", "a stopped watcher is no longer notified", func(b *testbed) {
		c := b.claim()
		wake, stop := b.watch(c)
		b.notified(wake)
		stop()
		b.sleep(b.Lease / 4) // pending notifications have arrived
		drain(wake)
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		b.sleep(b.Lease / 4)
		if drain(wake) {
			b.errorf("a watcher that had stopped was notified")
		}
	}},
	{"watch", "stopping a watcher twice does not stop another", func(b *testbed) {
		c := b.claim()
		_, stopOne := b.watch(c)
		wake, stop := b.watch(c)
		defer stop()
		b.notified(wake)
		stopOne()
		stopOne()
		b.claimGranted(c)
		b.settles(settlement(c, engine.Done), engine.Released)
		b.notified(wake)
	}},
	{"watch", "a watcher that does not read blocks no other", func(b *testbed) {
		_, stop := b.watch(b.claim())
		defer stop()
		for range 20 {
			c := b.claim()
			b.claimGranted(c)
			b.settles(settlement(c, engine.Absent), engine.Released)
		}
	}},
}

// watch subscribes to the record of c.
func (b *testbed) watch(c engine.Claim) (wake <-chan struct{}, stop func()) {
	return b.ledger().Watch(c.Key)
}
