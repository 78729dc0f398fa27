package admin

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/interlock-go/interlock"
)

const (
	maxEvents  = 4096 // in memory, for clients that reconnect
	maxStreams = 64   // open at a time

	// Lock events per second. A busy process has more than anyone could read.
	locksPerSec = 200
	locksBurst  = 1000
)

// Events are the latest events of this process, for streams and for clients that
// reconnect. Publishers never wait for readers: a slow stream is disconnected.
type Events struct {
	epoch string // distinguishes the ids of this process from an earlier one

	locks   *rate.Limiter
	skipped atomic.Int64
	client  atomic.Pointer[func() *interlock.Client] // returns the API's client, whose prefix is removed from keys

	// mu guards the fields below. Publishers hold it for a few assignments only.
	mu      sync.Mutex
	ring    []Event
	next    uint64        // number of the next event; the first is 1
	changed chan struct{} // closed and replaced with each event
	streams int
	closed  bool
}

// An Event is something that happened to a lock, a request or the configuration.
type Event struct {
	ID   string    `json:"id" doc:"Send it as Last-Event-ID to resume after this event."`
	Time time.Time `json:"time"`
	Kind string    `json:"kind" example:"lock.acquired" doc:"lock.waiting, lock.acquired, lock.contended, lock.released, lock.lost, admin, skipped, missed, or a kind of the gateway's."`
	Data any       `json:"data" doc:"Its fields depend on the kind."`
}

// NewEvents returns an empty Events.
func NewEvents() *Events {
	return &Events{
		epoch: strconv.FormatInt(time.Now().UnixMilli(), 36), locks: rate.NewLimiter(locksPerSec, locksBurst),
		ring: make([]Event, 0, maxEvents), next: 1, changed: make(chan struct{}),
	}
}

// Publish adds an event. The caller must not modify data afterwards.
func (e *Events) Publish(kind string, data any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(kind, data)
}

// add is Publish with the mutex held.
func (e *Events) add(kind string, data any) {
	x := Event{ID: e.id(e.next), Time: time.Now().UTC(), Kind: kind, Data: data}
	if len(e.ring) < maxEvents {
		e.ring = append(e.ring, x)
	} else {
		// Numbers start at 1, so event n is at n-1. The slot holds the oldest event.
		e.ring[(e.next-1)%maxEvents] = x
	}
	e.next++
	// A closed channel wakes all streams at once. Streams fetch the next channel with
	// from.
	close(e.changed)
	e.changed = make(chan struct{})
}

// publishLock is Publish with a rate limit, for events of locks. The next event that
// passes is preceded by a count of the skipped ones.
func (e *Events) publishLock(kind string, data LockEvent) {
	// The limiter comes before the mutex: a busy lock must not wait for the streams.
	if !e.locks.Allow() {
		e.skipped.Add(1)
		return
	}
	if client := e.client.Load(); client != nil {
		data.Key = bare((*client)(), data.Key) // as in the list of locks
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.skipped.Swap(0); n > 0 {
		e.add("skipped", map[string]int64{"count": n})
	}
	e.add(kind, data)
}

// id returns the ID of an event. The epoch makes the IDs of a previous process unknown,
// so that a client which reconnects gets an event about the gap.
func (e *Events) id(n uint64) string { return e.epoch + "-" + strconv.FormatUint(n, 10) }

// after returns the number of the event after the one with an ID, and whether all events
// from there on are still in memory.
func (e *Events) after(id string) (n uint64, complete bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id == "" {
		return e.next, true
	}
	// An unknown ID restarts at the oldest event, and the client gets an event "missed".
	oldest := e.next - uint64(len(e.ring))
	epoch, number, _ := strings.Cut(id, "-")
	last, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != e.epoch || last >= e.next || last+1 < oldest {
		return oldest, false
	}
	return last + 1, true
}

// from returns the events from a number on, and a channel that is closed when there are
// more. ok is false if some are no longer in memory, or the events are closed.
func (e *Events) from(n uint64) (events []Event, more <-chan struct{}, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || n+uint64(len(e.ring)) < e.next {
		return nil, nil, false
	}
	// Events are copied, so that a stream encodes them without the mutex.
	for ; n < e.next; n++ {
		events = append(events, e.ring[(n-1)%maxEvents])
	}
	return events, e.changed, true
}

// enter counts a new stream, and reports whether it may start.
func (e *Events) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	// Each stream costs a goroutine, a connection and a buffer.
	if e.closed || e.streams >= maxStreams {
		return false
	}
	e.streams++
	return true
}

// leave counts a stream that has ended.
func (e *Events) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams--
}

// close ends all streams.
func (e *Events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	// Streams wake up, call from, and end because it returns false.
	if !e.closed {
		e.closed = true
		close(e.changed)
		e.changed = make(chan struct{})
	}
}
