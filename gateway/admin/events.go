package admin

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxEvents  = 4096 // that are kept for who comes back
	maxStreams = 64   // that listen at a time

	// Of what happens to locks so many are told in a second: in a busy process
	// nobody could read more.
	locksPerSec = 200
	locksBurst  = 1000
)

// Events are what happened lately, for those who listen, and for those who were cut
// off and come back.
type Events struct {
	epoch string // tells the events of one process from those of another

	locks   *rate.Limiter
	skipped atomic.Int64

	mu      sync.Mutex
	ring    []Event
	next    uint64 // the number of the next one; the first is 1
	changed chan struct{}
	streams int
	closed  bool
}

// An Event is something that happened.
type Event struct {
	ID   string    `json:"id" doc:"As Last-Event-ID it says where to go on."`
	Time time.Time `json:"time"`
	Kind string    `json:"kind" example:"lock.acquired" doc:"lock.waiting, lock.acquired, lock.contended, lock.released, lock.lost, admin, skipped, missed, or what the gateway tells."`
	Data any       `json:"data" doc:"What it says depends on the kind."`
}

// NewEvents returns Events without any.
func NewEvents() *Events {
	return &Events{
		epoch: strconv.FormatInt(time.Now().UnixMilli(), 36), locks: rate.NewLimiter(locksPerSec, locksBurst),
		ring: make([]Event, 0, maxEvents), next: 1, changed: make(chan struct{}),
	}
}

// Tell adds something that happened. It must not be changed any more.
func (e *Events) Publish(kind string, what any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(kind, what)
}

// add is Tell with the mutex held.
func (e *Events) add(kind string, what any) {
	x := Event{ID: e.id(e.next), Time: time.Now().UTC(), Kind: kind, Data: what}
	if len(e.ring) < maxEvents {
		e.ring = append(e.ring, x)
	} else {
		e.ring[(e.next-1)%maxEvents] = x
	}
	e.next++
	close(e.changed)
	e.changed = make(chan struct{})
}

// tellLock is Tell for what happens to locks, of which there may be too many.
func (e *Events) publishLock(kind string, what any) {
	if !e.locks.Allow() {
		e.skipped.Add(1)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.skipped.Swap(0); n > 0 {
		e.add("skipped", map[string]int64{"count": n})
	}
	e.add(kind, what)
}

func (e *Events) id(n uint64) string { return e.epoch + "-" + strconv.FormatUint(n, 10) }

// after returns the number of the event after the one with an ID, and whether all from
// there on are still known.
func (e *Events) after(id string) (n uint64, whole bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id == "" {
		return e.next, true
	}
	oldest := e.next - uint64(len(e.ring))
	born, number, _ := strings.Cut(id, "-")
	last, err := strconv.ParseUint(number, 10, 64)
	if err != nil || born != e.epoch || last >= e.next || last+1 < oldest {
		return oldest, false
	}
	return last + 1, true
}

// from returns the events from a number on, and what is closed when there are more. It
// is not ok if some are not known any more, or there will be none.
func (e *Events) from(n uint64) (events []Event, news <-chan struct{}, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || n+uint64(len(e.ring)) < e.next {
		return nil, nil, false
	}
	for ; n < e.next; n++ {
		events = append(events, e.ring[(n-1)%maxEvents])
	}
	return events, e.changed, true
}

// enter lets one more listen, if there is room.
func (e *Events) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.streams >= maxStreams {
		return false
	}
	e.streams++
	return true
}

func (e *Events) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams--
}

// close ends all streams.
func (e *Events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		close(e.changed)
		e.changed = make(chan struct{})
	}
}
