package memory

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A waiter is one who stands in line. Its entry ends when its place has run out:
// others are granted the lock past it then. It is forgotten later, so that it may
// still come back if nobody was.
type waiter struct {
	entry
	kept time.Duration // for how long its place is, each time it comes back
}

func newWaiter(r engine.Request, now int64) *waiter {
	return &waiter{
		entry{key: r.Key, kind: r.Kind, holder: r.Holder, attempt: r.Attempt, expires: after(now, r.QueueLease)}, r.QueueLease,
	}
}

// keep lets the place last for as long again.
func (w *waiter) keep(place time.Duration, now int64) {
	if until := after(now, place); until > w.expires {
		w.expires, w.kept = until, place
	}
}

// over reports whether the place has run out.
func (w *waiter) over(now int64) bool { return now >= w.expires }

// forgotten is when it is of no use any more to come back.
func (w *waiter) forgotten() int64 { return after(w.expires, w.kept) }

// due is when something is next to be done about the place.
func (w *waiter) due(now int64) int64 {
	if w.over(now) {
		return w.forgotten()
	}
	return w.expires
}
