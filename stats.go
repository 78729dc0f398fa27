package interlock

import (
	"sync/atomic"
	"time"
)

// Stats are the counters of a client since it was made.
type Stats struct {
	Live          int64         // locks held now
	Waiting       int64         // goroutines waiting for a lock now
	Acquired      uint64        // locks acquired, from the engine or by a handover
	HandedOver    uint64        // locks of Acquired that another holder of this process handed over
	Contended     uint64        // callers that gave up on a held lock
	Failed        uint64        // engine failures reported to a caller
	Renewed       uint64        // leases renewed
	RenewFailed   uint64        // renewals that failed and were retried
	Released      uint64        // locks released
	ReleaseFailed uint64        // releases that failed; the leases expired
	Lost          uint64        // locks lost before their release
	CleanedUp     uint64        // acquisitions without an answer that were undone
	Dropped       uint64        // holds ended by ReleaseAll or Close
	Unguarded     uint64        // runs of guarded work without a claim, while the engine was down
	Local         uint64        // runs of guarded work that only this process guarded
	Held          time.Duration // total time that locks were held
	Waited        time.Duration // total time that acquired locks were waited for
}

// Stats returns the counters. Clients made by [Client.With] share them.
func (c *Client) Stats() Stats {
	s := &c.core.stats
	return Stats{
		Live:          s.live.Load(),
		Waiting:       s.waiting.Load(),
		Acquired:      s.acquired.Load(),
		HandedOver:    s.handedOver.Load(),
		Contended:     s.contended.Load(),
		Failed:        s.failed.Load(),
		Renewed:       s.renewed.Load(),
		RenewFailed:   s.renewFailed.Load(),
		Released:      s.released.Load(),
		ReleaseFailed: s.releaseFailed.Load(),
		Lost:          s.lost.Load(),
		CleanedUp:     s.cleanedUp.Load(),
		Dropped:       s.dropped.Load(),
		Unguarded:     s.unguarded.Load(),
		Local:         s.local.Load(),
		Held:          time.Duration(s.held.Load()),
		Waited:        time.Duration(s.waited.Load()),
	}
}

type counters struct {
	live, waiting            atomic.Int64
	acquired, handedOver     atomic.Uint64
	contended, failed        atomic.Uint64
	renewed, renewFailed     atomic.Uint64
	released, releaseFailed  atomic.Uint64
	lost, cleanedUp, dropped atomic.Uint64
	unguarded, local         atomic.Uint64
	held, waited             atomic.Int64 // nanoseconds
}
