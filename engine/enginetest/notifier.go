package enginetest

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A faultyNotifier is a notifier whose notifications can be dropped or delayed.
type faultyNotifier struct {
	faulty *Faulty
	inner  engine.Notifier
}

// Notify implements [engine.Notifier].
func (m *faultyNotifier) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return m.faulty.withFaults(r.Key, func(string) (<-chan struct{}, func()) { return m.inner.Notify(r) })
}

// withFaults listens for notifications of key, and passes them on subject to the faults.
func (f *Faulty) withFaults(key string, listen func(string) (<-chan struct{}, func())) (wake <-chan struct{}, stop func()) {
	from, stopInner := listen(key)
	to, stopped := make(chan struct{}, 1), make(chan struct{})
	go f.pass(key, from, to, stopped) // ends after stop, which must not block and so does not wait
	return to, sync.OnceFunc(func() {
		stopInner()
		close(stopped)
	})
}

// pass forwards notifications, unless a fault applies.
func (f *Faulty) pass(key string, from <-chan struct{}, to chan<- struct{}, stopped <-chan struct{}) {
	for {
		select {
		case <-stopped:
			return
		case <-from:
		}
		x := f.next(context.Background(), OpNotify, key)
		if x != nil && x.Do == Mute {
			continue
		}
		if x != nil && !pause(x.After, stopped) {
			return
		}
		select {
		case to <- struct{}{}:
		default: // the last notification is still unread: the two merge
		}
	}
}

// pause reports whether d passed before stopped was closed.
func pause(d time.Duration, stopped <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stopped:
		return false
	}
}
