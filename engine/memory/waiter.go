package memory

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A waiter is a position in a queue. When it has expired, later waiters may be granted
// the lock. The waiter is forgotten only one QueueLease later. If it returns before that,
// it keeps its position.
type waiter struct {
	entry
	queueLease time.Duration // how long each request keeps the position
}

func newWaiter(r engine.Request, now int64) *waiter {
	return &waiter{
		entry{key: r.Key, kind: r.Kind, holder: r.Holder, attempt: r.Attempt, expires: after(now, r.QueueLease)}, r.QueueLease,
	}
}

// extend keeps the position for another QueueLease.
func (w *waiter) extend(d time.Duration, now int64) {
	if until := after(now, d); until > w.expires {
		w.expires, w.queueLease = until, d
	}
}

// expired reports whether the position has expired.
func (w *waiter) expired(now int64) bool { return now >= w.expires }

// forgetAt returns when the waiter is forgotten.
func (w *waiter) forgetAt() int64 { return after(w.expires, w.queueLease) }

// due returns when prune must handle the waiter next.
func (w *waiter) due(now int64) int64 {
	if w.expired(now) {
		return w.forgetAt()
	}
	return w.expires
}
