package watchdog

import (
	"container/heap"
	"sync"
	"time"
)

// A Watchdog renews any number of leases with one timer, in batches by shard. It
// needs no goroutine while nothing is due.
type Watchdog struct {
	config Config

	mu      sync.Mutex
	leases  leaseHeap           // every live lease, ordered by when its next action is due
	timer   *time.Timer         // calls fire
	armed   int64               // when the timer fires, or never
	pending map[batchKey]*batch // calls in progress
	mono    int64               // the monotonic clock when the clocks were last compared
	wall    int64               // the wall clock at that time
	drained chan struct{}       // closed after the last lease was removed; nil unless Empty was called
}

const (
	// clockTick is how often the wall clock is compared with the monotonic
	// clock, which stops while the machine sleeps. A difference above clockSlack
	// means that the machine slept or the clock was set.
	clockTick  = 500 * time.Millisecond
	clockSlack = 250 * time.Millisecond
)

// Init makes the watchdog ready for use.
func (w *Watchdog) Init(c Config) {
	w.config = c
	w.pending = make(map[batchKey]*batch)
	w.armed = never
}

// Add starts to watch a lease that has begun.
func (w *Watchdog) Add(x Leased, now time.Time) {
	l := x.Watched()
	w.mu.Lock()
	defer w.mu.Unlock()
	l.leased = x
	l.schedule(l.sent)
	if w.config.Clock.mono(now) < w.mono {
		// The caller's now precedes the last comparison of the clocks. If the machine slept in
		// between, that comparison has counted the sleep already.
		now = time.Now()
	}
	if len(w.leases) == 0 {
		w.compareClocks(now)
	}
	l.next = l.nextDue(now)
	heap.Push(&w.leases, l)
	w.arm()
}

// Remove stops watching a lease. A renewal in progress does no harm: an engine renews
// only leases that are held.
func (w *Watchdog) Remove(x Leased) {
	l := x.Watched()
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.index < 0 {
		return
	}
	heap.Remove(&w.leases, l.index)
	w.emptied()
}

// All returns every lease.
func (w *Watchdog) All() []Leased {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all()
}

// Empty returns a channel that is closed when no lease is left.
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

func (w *Watchdog) all() []Leased {
	all := make([]Leased, len(w.leases))
	for i, l := range w.leases {
		all[i] = l.leased
	}
	return all
}

// emptied notifies the owner when the last lease was removed.
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

// arm sets the timer for the next action. Remove does not reset it: a timer that fires
// for nothing costs less than a reset.
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

// fire processes everything that is due.
func (w *Watchdog) fire() {
	w.mu.Lock()
	w.armed = never
	now := time.Now()
	if w.compareClocks(now) {
		w.renewAllNow(now)
	}
	ended := w.processDue(now)
	w.arm()
	if w.config.Tick != nil && len(w.leases) > 0 {
		w.config.Tick(now, w.all)
	}
	w.mu.Unlock()

	for _, l := range ended {
		if l.Overdue(time.Now()) {
			l.leased.Expired()
		} else {
			l.leased.Exceeded()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emptied()
}

// renewAllNow makes every renewal due, because the machine slept.
func (w *Watchdog) renewAllNow(now time.Time) {
	at := w.config.Clock.mono(now)
	for _, l := range w.leases {
		l.next = at
		if l.renew != never {
			l.renew = at
		}
	}
	heap.Init(&w.leases)
}

// processDue starts the renewals that are due, and removes and returns the leases
// that have ended.
func (w *Watchdog) processDue(now time.Time) (ended []*Lease) {
	at := w.config.Clock.mono(now)
	for len(w.leases) > 0 && w.leases[0].next <= at {
		l := w.leases[0]
		if l.Overdue(now) || l.exceeded(at) {
			heap.Pop(&w.leases)
			ended = append(ended, l)
			continue
		}
		if !l.renewing && l.renew <= at {
			w.enqueue(l)
		}
		w.reorder(l, now) // use the now of the checks above: if a clock is set, a later now might make this loop endless
	}
	return ended
}

// reorder restores the order after a lease has changed.
func (w *Watchdog) reorder(l *Lease, now time.Time) {
	l.next = l.nextDue(now)
	heap.Fix(&w.leases, l.index)
}

// compareClocks reports whether the wall clock has gained on the monotonic clock
// since the last call.
func (w *Watchdog) compareClocks(now time.Time) bool {
	mono, wall := w.config.Clock.mono(now), w.config.Clock.wall(now)
	ahead := time.Duration((wall - w.wall) - (mono - w.mono))
	w.mono, w.wall = mono, wall
	return ahead > clockSlack
}
