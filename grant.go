package interlock

import (
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/watchdog"
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
	local     bool      // it is this process's alone
}

// maxHandovers is how many holders in a row may follow the first without the
// engine being asked, before other processes get their chance.
const maxHandovers = 8

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
	return g.handovers < maxHandovers && g.sure.Sub(now) >= g.req.Lease*3/4-watchdog.DriftLeast
}
