package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// When waiters are told to try again. Only what must arrive is a law: wake-ups
// may be spurious.
var notifyLaws = []Law{
	{"notify", "a new listener is notified at once", func(b *bench) {
		wake, stop := b.listen(b.ask(ann))
		defer stop()
		b.told(wake)
	}},
	{"notify", "a release notifies listeners", func(b *bench) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		defer stop()
		b.told(wake)
		for range 3 {
			b.granted(a)
			b.leaves(a, engine.Released)
			b.told(wake)
		}
	}},
	{"notify", "an abandoned hold notifies listeners", func(b *bench) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		defer stop()
		b.told(wake)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.told(wake)
	}},
	{"notify", "the end of a named owner's last entry notifies listeners", func(b *bench) {
		first, second := b.ask(ann), b.ask(ann)
		wake, stop := b.listen(first)
		defer stop()
		b.told(wake)
		b.granted(first)
		b.granted(second)
		b.leaves(first, engine.Released)
		drain(wake)
		b.leaves(second, engine.Released)
		b.told(wake)
	}},
	{"notify", "all listeners are notified", func(b *bench) {
		a := b.ask(ann)
		var wakes []<-chan struct{}
		for range 10 {
			wake, stop := b.listen(a)
			defer stop()
			b.told(wake)
			wakes = append(wakes, wake)
		}
		b.granted(a)
		b.leaves(a, engine.Released)
		for _, wake := range wakes {
			b.told(wake)
		}
	}},
	{"notify", "listeners of different locks are independent", func(b *bench) {
		one, two := b.askFor("one", ann), b.askFor("two", ann)
		wakeOne, stopOne := b.listen(one)
		defer stopOne()
		wakeTwo, stopTwo := b.listen(two)
		defer stopTwo()
		b.told(wakeOne)
		b.told(wakeTwo)
		for r, wake := range map[engine.Request]<-chan struct{}{one: wakeOne, two: wakeTwo} {
			b.granted(r)
			b.leaves(r, engine.Released)
			b.told(wake)
		}
	}},
	{"notify", "a release counts the listeners", func(b *bench) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		defer stop()
		b.told(wake)
		b.granted(a)
		if p := b.leaves(a, engine.Released); p.Listeners < 1 {
			b.errorf("%d are said to listen, want at least 1", p.Listeners)
		}
	}},
	{"notify", "a release without listeners counts none", func(b *bench) {
		a := b.ask(ann)
		b.granted(a)
		if p := b.leaves(a, engine.Released); p.Listeners != 0 {
			b.errorf("%d are said to listen, want none", p.Listeners)
		}
	}},
	{"notify", "a stopped listener is no longer notified", func(b *bench) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		b.told(wake)
		stop()
		b.pass(b.Lease / 4) // pending notifications have arrived
		drain(wake)
		b.granted(a)
		b.leaves(a, engine.Released)
		b.pass(b.Lease / 4)
		if drain(wake) {
			b.errorf("a release was told to one who had stopped listening")
		}
	}},
	{"notify", "stopping one listener does not stop another", func(b *bench) {
		a := b.ask(ann)
		_, stopOne := b.listen(a)
		wake, stop := b.listen(a)
		defer stop()
		b.told(wake)
		stopOne()
		b.granted(a)
		b.leaves(a, engine.Released)
		b.told(wake)
	}},
	{"notify", "stopping twice is stopping once", func(b *bench) {
		a := b.ask(ann)
		_, stopOne := b.listen(a)
		wake, stop := b.listen(a)
		defer stop()
		b.told(wake)
		stopOne()
		stopOne()
		b.granted(a)
		b.leaves(a, engine.Released)
		b.told(wake)
	}},
	{"notify", "a listener that subscribes again is notified again", func(b *bench) {
		a := b.ask(ann)
		for range 3 {
			wake, stop := b.listen(a)
			b.told(wake)
			b.granted(a)
			b.leaves(a, engine.Released)
			b.told(wake)
			stop()
		}
	}},
	{"notify", "a listener that does not read blocks no other", func(b *bench) {
		a := b.ask(ann)
		_, stop := b.listen(a)
		defer stop()
		for range 20 {
			b.granted(a)
			b.leaves(a, engine.Released)
		}
	}},
}

// listen begins to listen for the lock that r is about.
func (b *bench) listen(r engine.Request) (wake <-chan struct{}, stop func()) {
	n := b.Capabilities().Notifier
	if n == nil {
		b.skip("the engine has no notifier")
	}
	return n.Notify(r)
}

// told demands that a wake-up arrives. Others that come with it count as one: who
// listens for a lock may listen for several things, and is told of each.
func (b *bench) told(wake <-chan struct{}) {
	select {
	case <-wake:
		pause := b.Lease / 100
		time.Sleep(pause)
		b.passed += pause
		drain(wake)
	case <-time.After(5 * time.Second):
		b.passed += 5 * time.Second
		b.fatalf("no wake-up came within 5 s")
	}
}

// drain removes an unread notification, and reports whether there was
// one.
func drain(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}
