package enginetest

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// Notifications of waiters. The laws say only which notifications must arrive; more may
// arrive.
var notifyLaws = []Law{
	{"notify", "a new listener is notified at once", func(b *testbed) {
		wake, stop := b.listen(b.ask(ann))
		defer stop()
		b.notified(wake)
	}},
	{"notify", "a release notifies listeners", func(b *testbed) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		defer stop()
		b.notified(wake)
		for range 3 {
			b.granted(a)
			b.releases(a, engine.Released)
			b.notified(wake)
		}
	}},
	{"notify", "an abandoned hold notifies listeners", func(b *testbed) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		defer stop()
		b.notified(wake)
		b.granted(a)
		b.abandons(a, engine.Released)
		b.notified(wake)
	}},
	{"notify", "the end of a named owner's last entry notifies listeners", func(b *testbed) {
		first, second := b.ask(ann), b.ask(ann)
		wake, stop := b.listen(first)
		defer stop()
		b.notified(wake)
		b.granted(first)
		b.granted(second)
		b.releases(first, engine.Released)
		drain(wake)
		b.releases(second, engine.Released)
		b.notified(wake)
	}},
	{"notify", "all listeners are notified", func(b *testbed) {
		a := b.ask(ann)
		var wakes []<-chan struct{}
		for range 10 {
			wake, stop := b.listen(a)
			defer stop()
			b.notified(wake)
			wakes = append(wakes, wake)
		}
		b.granted(a)
		b.releases(a, engine.Released)
		for _, wake := range wakes {
			b.notified(wake)
		}
	}},
	{"notify", "listeners of different locks are independent", func(b *testbed) {
		one, two := b.askFor("one", ann), b.askFor("two", ann)
		wakeOne, stopOne := b.listen(one)
		defer stopOne()
		wakeTwo, stopTwo := b.listen(two)
		defer stopTwo()
		b.notified(wakeOne)
		b.notified(wakeTwo)
		for r, wake := range map[engine.Request]<-chan struct{}{one: wakeOne, two: wakeTwo} {
			b.granted(r)
			b.releases(r, engine.Released)
			b.notified(wake)
		}
	}},
	{"notify", "a release counts the listeners", func(b *testbed) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		defer stop()
		b.notified(wake)
		b.granted(a)
		if p := b.releases(a, engine.Released); p.Listeners < 1 {
			b.errorf("Listeners is %d, want at least 1", p.Listeners)
		}
	}},
	{"notify", "a release without listeners counts none", func(b *testbed) {
		a := b.ask(ann)
		b.granted(a)
		if p := b.releases(a, engine.Released); p.Listeners != 0 {
			b.errorf("Listeners is %d, want 0", p.Listeners)
		}
	}},
	{"notify", "a stopped listener is no longer notified", func(b *testbed) {
		a := b.ask(ann)
		wake, stop := b.listen(a)
		b.notified(wake)
		stop()
		b.sleep(b.Lease / 4) // pending notifications have arrived
		drain(wake)
		b.granted(a)
		b.releases(a, engine.Released)
		b.sleep(b.Lease / 4)
		if drain(wake) {
			b.errorf("a listener that had stopped was notified")
		}
	}},
	{"notify", "stopping one listener does not stop another", func(b *testbed) {
		a := b.ask(ann)
		_, stopOne := b.listen(a)
		wake, stop := b.listen(a)
		defer stop()
		b.notified(wake)
		stopOne()
		b.granted(a)
		b.releases(a, engine.Released)
		b.notified(wake)
	}},
	{"notify", "stopping a listener twice does not stop another", func(b *testbed) {
		a := b.ask(ann)
		_, stopOne := b.listen(a)
		wake, stop := b.listen(a)
		defer stop()
		b.notified(wake)
		stopOne()
		stopOne()
		b.granted(a)
		b.releases(a, engine.Released)
		b.notified(wake)
	}},
	{"notify", "a listener that subscribes again is notified again", func(b *testbed) {
		a := b.ask(ann)
		for range 3 {
			wake, stop := b.listen(a)
			b.notified(wake)
			b.granted(a)
			b.releases(a, engine.Released)
			b.notified(wake)
			stop()
		}
	}},
	{"notify", "a listener that does not read blocks no other", func(b *testbed) {
		a := b.ask(ann)
		_, stop := b.listen(a)
		defer stop()
		for range 20 {
			b.granted(a)
			b.releases(a, engine.Released)
		}
	}},
}

// listen subscribes to the lock of r.
func (b *testbed) listen(r engine.Request) (wake <-chan struct{}, stop func()) {
	n := b.Capabilities().Notifier
	if n == nil {
		b.skip("the engine has no notifier")
	}
	return n.Notify(r)
}

// notified requires that a notification arrives. It drops others that arrive with it:
// a listener may have several subscriptions, each with its own notification.
func (b *testbed) notified(wake <-chan struct{}) {
	select {
	case <-wake:
		pause := b.Lease / 100
		time.Sleep(pause)
		b.slept += pause
		drain(wake)
	case <-time.After(5 * time.Second):
		b.slept += 5 * time.Second
		b.fatalf("no notification arrived within 5 s")
	}
}

// drain removes an unread notification, and reports whether there was one.
func drain(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}
