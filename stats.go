package interlock

import (
	"sync/atomic"
	"time"
)

// Stats counts what has happened to a client's locks since it was made. It is
// what metrics are made of.
type Stats struct {
	Live          int64         // locks held now
	Waiting       int64         // goroutines waiting for one now
	Acquired      uint64        // locks taken, whether from the engine or in process
	HandedOver    uint64        // of those, passed on in this process without asking the engine
	Contended     uint64        // locks not to be had
	Failed        uint64        // engine failures reported to a caller
	Renewed       uint64        // leases renewed
	RenewFailed   uint64        // renewals that failed and were tried again
	Released      uint64        // locks given up
	ReleaseFailed uint64        // locks that could not be, and ran out
	Lost          uint64        // locks that ceased to be held before they were given up
	CleanedUp     uint64        // acquisitions without an answer that were undone
	Dropped       uint64        // holds ended by ReleaseAll or Close
	Held          time.Duration // time held, of all locks that ended
	Waited        time.Duration // time waited, of all locks taken
}

// Stats returns the numbers so far. Clients made by [Client.With] share them.
func (c *Client) Stats() Stats {
	s := &c.core.stats
	return Stats{
		Live:          s.live.Load(),
		Waiting:       s.waiting.Load(),
		Acquired:      s.acquired.Load(),
		HandedOver:    s.handed.Load(),
		Contended:     s.contended.Load(),
		Failed:        s.failed.Load(),
		Renewed:       s.renewed.Load(),
		RenewFailed:   s.renewFailed.Load(),
		Released:      s.released.Load(),
		ReleaseFailed: s.releaseFailed.Load(),
		Lost:          s.lost.Load(),
		CleanedUp:     s.cleanedUp.Load(),
		Dropped:       s.dropped.Load(),
		Held:          time.Duration(s.held.Load()),
		Waited:        time.Duration(s.waited.Load()),
	}
}

type counters struct {
	live, waiting            atomic.Int64
	acquired, handed         atomic.Uint64
	contended, failed        atomic.Uint64
	renewed, renewFailed     atomic.Uint64
	released, releaseFailed  atomic.Uint64
	lost, cleanedUp, dropped atomic.Uint64
	held, waited             atomic.Int64 // nanoseconds
}
