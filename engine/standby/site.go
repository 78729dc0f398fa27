package standby

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A site is a side, its engine, and what is known of it. What changes is guarded
// by the Engine's mutex.
type site struct {
	side   Side
	engine engine.Engine
	caps   engine.Capabilities

	word    word      // what its note says
	version uint64    // of the note
	known   bool      // it was read at least once
	read    time.Time // when the last reading began that had an answer
	quiet   time.Time // nothing is granted here before
	trouble error     // why it could not be read the last time
	down    time.Time // since when; zero if there is none
}

func newSite(side Side, e engine.Engine) *site {
	return &site{side: side, engine: e, caps: e.Capabilities()}
}

// at returns the site of a side.
func (e *Engine) at(side Side) *site {
	if side == Local {
		return e.local
	}
	return e.shared[side-Primary]
}

// other returns the shared site that s is not.
func (e *Engine) other(s *site) *site {
	if s == e.shared[0] {
		return e.shared[1]
	}
	return e.shared[0]
}
