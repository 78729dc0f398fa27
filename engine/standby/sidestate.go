package standby

import (
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A sideState is a side with its engine and the last read of its record. Engine.mu guards
// the fields after reads.
type sideState struct {
	side   Side
	engine engine.Engine
	caps   engine.Capabilities
	reads  atomic.Uint64 // reads of the record, in the order in which they began

	answered    uint64       // the latest read that was answered
	record      switchRecord // the record on this side
	version     uint64       // the version of the note that holds it
	known       bool         // the record was read at least once
	readAt      time.Time    // when the last successful read began
	frozenUntil time.Time    // nothing is granted here before that
	err         error        // why the last read failed
	downSince   time.Time    // when reads began to fail; zero if they succeed
}

func newSideState(side Side, e engine.Engine) *sideState {
	return &sideState{side: side, engine: e, caps: e.Capabilities()}
}

// at returns the state of a side.
func (e *Engine) at(side Side) *sideState {
	if side == Local {
		return e.local
	}
	return e.shared[side-Primary]
}

// other returns the other one of primary and standby.
func (e *Engine) other(s *sideState) *sideState {
	if s == e.shared[0] {
		return e.shared[1]
	}
	return e.shared[0]
}
