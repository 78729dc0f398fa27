package standby

import "sync/atomic"

// Stats are the counters of an [Engine] since it was made.
type Stats struct {
	Switches   uint64 // switches noticed by this process
	Forced     uint64 // switches by this process that a side did not record: a lock may have two holders
	Automatic  uint64 // automatic switches by this process: a lock may have two holders
	Degraded   uint64 // times this process degraded because it reached neither side
	Unverified uint64 // claims granted without an answer from the other side
	Refused    uint64 // calls refused during a freeze
}

type counters struct {
	switches, forced, automatic, degraded, unverified, refused atomic.Uint64
}

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	c := &e.stats
	return Stats{
		Switches: c.switches.Load(), Forced: c.forced.Load(), Automatic: c.automatic.Load(),
		Degraded: c.degraded.Load(), Unverified: c.unverified.Load(), Refused: c.refused.Load(),
	}
}
