package interlock

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A grant is a lock as the engine granted it. It may pass from holder to holder
// within this process without the engine being asked.
type grant struct {
	req       engine.Request
	fence     uint64
	sent      time.Time // when what last set its lease was sent
	sure      time.Time // until when it is certainly ours
	handovers int       // in a row
	tries     int       // how often the engine was asked for it
	handed    bool      // it came from another holder here
	direct    bool      // it never stood in line in this process
}

const (
	// maxHandovers is how many holders in a row may follow the first without
	// the engine being asked, before other processes get their chance.
	maxHandovers = 8

	// driftPart and driftLeast are how much earlier than the engine we let a
	// lease end: clocks run apart by less than 1 % and 2 ms over one lease.
	driftPart  = 100
	driftLeast = 2 * time.Millisecond
)

// sureUntil returns until when a lease is certainly ours that was asked for at
// sent, whenever the engine may have granted it after that.
func sureUntil(sent time.Time, lease time.Duration) time.Time {
	return sent.Add(lease - lease/driftPart - driftLeast)
}

// next returns the grant as its next holder in this process has it.
func (g grant) next() grant {
	g.fence++
	g.handovers++
	g.tries = 0
	g.handed = true
	return g
}

// passable tells whether the grant may be passed on without a word to the
// engine. At least three quarters of the lease must be left, so that the next
// holder is not much worse off than one who asked.
func (g *grant) passable(now time.Time) bool {
	return g.handovers < maxHandovers && g.sure.Sub(now) >= g.req.Lease*3/4-driftLeast
}
