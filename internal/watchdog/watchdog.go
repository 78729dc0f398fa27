package watchdog

import (
	"container/heap"
	"sync"
	"time"
)

// A Watchdog looks after any number of wards with one timer, and renews them in
// batches by shard. It has no goroutine while nothing is due: a timer calls it.
type Watchdog struct {
	config Config

	mu      sync.Mutex
	leases  leaseHeap         // every live lease, what is due next first
	timer   *time.Timer       // calls fire
	armed   int64             // when it will; never if it will not
	flights map[lane]*renewal // calls on their way
	mono    int64             // what the two clocks showed when last compared
	wall    int64
	drained chan struct{} // closed when the last lease is gone; nil unless asked for
}

const (
	// clockTick is how often the wall clock is compared with the monotonic
	// one, which stands still while the machine sleeps. A difference above
	// clockSlack means that it did, or that the clock was set.
	clockTick  = 500 * time.Millisecond
	clockSlack = 250 * time.Millisecond
)

// Init makes the watchdog ready for its first ward.
func (w *Watchdog) Init(c Config) {
	w.config = c
	w.flights = make(map[lane]*renewal)
	w.armed = never
}

// Add takes charge of a ward whose lease has begun by now.
func (w *Watchdog) Add(x Ward, now time.Time) {
	l := x.Watched()
	w.mu.Lock()
	defer w.mu.Unlock()
	l.ward = x
	l.schedule(l.sent)
	if w.config.Clock.mono(now) < w.mono {
		now = time.Now() // the clocks were compared since, and a sleep in between is not found again
	}
	if len(w.leases) == 0 {
		w.compareClocks(now)
	}
	l.next = l.nextDue(now)
	heap.Push(&w.leases, l)
	w.arm()
}

// Remove lets go of a ward, unless it was let go before. A renewal on its way is
// of no consequence: an engine renews only what is held.
func (w *Watchdog) Remove(x Ward) {
	l := x.Watched()
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.index < 0 {
		return
	}
	heap.Remove(&w.leases, l.index)
	w.emptied()
}

// All returns every ward.
func (w *Watchdog) All() []Ward {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wards()
}

// Empty returns a channel that is closed when no ward is left.
func (w *Watchdog) Empty() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.leases) == 0 {
		none := make(chan struct{})
		close(none)
		return none
	}
	if w.drained == nil {
		w.drained = make(chan struct{})
	}
	return w.drained
}

func (w *Watchdog) wards() []Ward {
	all := make([]Ward, len(w.leases))
	for i, l := range w.leases {
		all[i] = l.ward
	}
	return all
}

// emptied does what is due when the last ward is gone.
func (w *Watchdog) emptied() {
	if len(w.leases) > 0 {
		return
	}
	if w.config.Emptied != nil {
		w.config.Emptied()
	}
	if w.drained != nil {
		close(w.drained)
		w.drained = nil
	}
}

// arm sets the timer for what is due next. It is never set back when a ward is
// removed: to fire for nothing costs less.
func (w *Watchdog) arm() {
	if len(w.leases) == 0 {
		return
	}
	at := min(w.leases[0].next, w.mono+int64(clockTick))
	if at >= w.armed {
		return
	}
	w.armed = at
	if d := time.Until(w.config.Clock.at(at)); w.timer == nil {
		w.timer = time.AfterFunc(d, w.fire)
	} else {
		w.timer.Reset(d)
	}
}

// fire does what is due.
func (w *Watchdog) fire() {
	w.mu.Lock()
	w.armed = never
	now := time.Now()
	if w.compareClocks(now) {
		w.hurry(now)
	}
	over := w.attend(now)
	w.arm()
	if w.config.Tick != nil && len(w.leases) > 0 {
		w.config.Tick(now, w.wards)
	}
	w.mu.Unlock()

	for _, l := range over {
		if l.Overdue(time.Now()) {
			l.ward.Expired()
		} else {
			l.ward.Exceeded()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emptied()
}

// hurry makes everything due now. That is rare: the machine slept.
func (w *Watchdog) hurry(now time.Time) {
	at := w.config.Clock.mono(now)
	for _, l := range w.leases {
		l.next = at
		if l.renew != never {
			l.renew = at
		}
	}
	heap.Init(&w.leases)
}

// attend renews what is due, and takes out what is over.
func (w *Watchdog) attend(now time.Time) (over []*Lease) {
	at := w.config.Clock.mono(now)
	for len(w.leases) > 0 && w.leases[0].next <= at {
		l := w.leases[0]
		if l.Overdue(now) || l.exceeded(at) {
			heap.Pop(&w.leases)
			over = append(over, l)
			continue
		}
		if !l.flying && l.renew <= at {
			w.launch(l)
		}
		w.reorder(l, now) // as of the same moment, or a clock set meanwhile would keep it due for ever
	}
	return over
}

// reorder puts a lease where it belongs after something about it has changed.
func (w *Watchdog) reorder(l *Lease, now time.Time) {
	l.next = l.nextDue(now)
	heap.Fix(&w.leases, l.index)
}

// compareClocks tells whether the wall clock has gone ahead of the monotonic
// one since it was last asked.
func (w *Watchdog) compareClocks(now time.Time) bool {
	mono, wall := w.config.Clock.mono(now), w.config.Clock.wall(now)
	ahead := time.Duration((wall - w.wall) - (mono - w.mono))
	w.mono, w.wall = mono, wall
	return ahead > clockSlack
}
