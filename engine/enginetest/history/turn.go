package history

import (
	"slices"
	"time"
)

// linesUp adds a waiter to the queue.
func (j *judge) linesUp(k *key, e Event) {
	if slices.ContainsFunc(k.line, e.same) {
		j.accuse(Malformed, e, "%s is in line twice", e.name())
		return
	}
	k.line = append(k.line, e)
}

// turn removes a granted waiter from the engine's queue, and checks that no waiter was
// before it, unless both are readers. A caller without a position comes after all
// waiters.
func (j *judge) turn(k *key, e Event) {
	i := slices.IndexFunc(k.line, e.same)
	before := k.line
	if i >= 0 {
		before = k.line[:i]
	}
	for _, w := range before {
		if !w.Shared || !e.Shared {
			j.accuse(OutOfOrder, e, "%s, who comes first in line, still waits when %s enters", w.name(), e.name())
			break // one is enough to show it
		}
	}
	if i >= 0 {
		k.line = slices.Delete(k.line, i, i+1)
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
