package standby

import "sync/atomic"

// Stats are what an [Engine] has counted since it was made.
type Stats struct {
	Switches  uint64 // switches that this process has seen, whoever made them
	Forced    uint64 // made here although a side could not be told: two may have one lock
	Automatic uint64 // made here by itself: two may have one lock
	Degraded  uint64 // how often this process went on by itself, since it reached neither side
	Unheard   uint64 // claims that were granted without a word from the other side
	Refused   uint64 // calls that were refused in the quiet time after a switch
}

type counters struct {
	switches, forced, automatic, degraded, unheard, refused atomic.Uint64
}

// Stats returns what was counted.
func (e *Engine) Stats() Stats {
	c := &e.stats
	return Stats{
		Switches: c.switches.Load(), Forced: c.forced.Load(), Automatic: c.automatic.Load(),
		Degraded: c.degraded.Load(), Unheard: c.unheard.Load(), Refused: c.refused.Load(),
	}
}
