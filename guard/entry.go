package guard

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An entry is the state of one key in this process. inflight.mu guards it.
type entry struct {
	key     string
	phase   phase
	shared  bool          // a waiter may still read it, so it is not reused
	changed chan struct{} // closed when the phase changes; nil without waiters
	waiters int

	claim   *claim        // while running
	rec     engine.Record // the last known record
	updated time.Time     // when rec was set
	wake    <-chan struct{}
	stop    func() // ends the subscription to other processes; nil without one
	err     error  // why there is no answer, for all waiters
}

// A phase is what this process knows of a key.
type phase uint8

const (
	claiming      phase = iota // a caller asks the engine: wait for the answer
	waitingRemote              // a caller waits for another process, on behalf of all
	running                    // this process works on it
	cached                     // the answer is known
	remoteRunning              // another process works on it
	evicted                    // the entry is out of the table: look up the key again
)

// stale reports whether a cached answer may no longer be used.
func (e *entry) stale(now time.Time, maxAge time.Duration) bool {
	if e.phase != cached && e.phase != remoteRunning {
		return false
	}
	if age := now.Sub(e.updated); age >= maxAge || age >= e.rec.Left {
		return true
	}
	select {
	case <-e.wake: // nil without a subscription
		return true
	default:
		return false
	}
}

// unsubscribe ends the subscription to other processes.
func (e *entry) unsubscribe() {
	if e.stop != nil {
		e.stop()
		e.wake, e.stop = nil, nil
	}
}
