package history

import (
	"slices"
	"time"
)

// queues adds a waiter to the queue.
func (j *judge) queues(k *key, e Event) {
	if slices.ContainsFunc(k.queue, e.same) {
		j.accuse(Malformed, e, "%s is in the queue twice", e.name())
		return
	}
	k.queue = append(k.queue, e)
}

// turn removes a granted waiter from the engine's queue, and checks that no waiter was
// before it, unless both are readers. A caller without a position comes after all
// waiters.
func (j *judge) turn(k *key, e Event) {
	i := slices.IndexFunc(k.queue, e.same)
	before := k.queue
	if i >= 0 {
		before = k.queue[:i]
	}
	for _, w := range before {
		if !w.Shared || !e.Shared {
			j.accuse(OutOfOrder, e, "%s is first in the queue and still waits when %s enters", w.name(), e.name())
			break // one is enough to show it
		}
	}
	if i >= 0 {
		k.queue = slices.Delete(k.queue, i, i+1)
	}
}

// same reports whether two events belong to the same waiter.
func (e Event) same(other Event) bool {
	if e.Holder != "" && other.Holder != "" {
		return e.Holder == other.Holder
	}
	return sameAs(e)(other)
}

// gap records how long the lock was free although a caller waited.
func (j *judge) gap(k *key, now time.Time) {
	if len(k.inside) > 0 || len(k.asking) == 0 {
		return
	}
	since := k.asking[0].At
	if k.idle.After(since) {
		since = k.idle
	}
	j.report.Gap = max(j.report.Gap, now.Sub(since))
}
