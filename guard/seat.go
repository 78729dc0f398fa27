package guard

import (
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A seat is what is known here of one key. The desk's mutex guards it.
type seat struct {
	key     string
	phase   phase
	known   bool          // somebody has waited for it, and may look at it later
	changed chan struct{} // closed when the phase changes; nil unless somebody waits
	waiters int

	claim *claim        // who works on it
	rec   engine.Record // what the engine said, or was told
	at    time.Time     // when
	wake  <-chan struct{}
	stop  func() // ends listening for what others do
	err   error  // why there is no answer, for all who waited for it
}

// A phase is how much is known of a key.
type phase uint8

const (
	asking    phase = iota // somebody asks the engine: wait for the answer
	scouting               // somebody waits for another process, for all here
	running                // somebody here works on it
	told                   // there is an answer
	elsewhere              // somebody in another process works on it
	vacant                 // the seat is not used any more: look again
)

// stale tells whether an answer is not good any more.
func (s *seat) stale(now time.Time, local time.Duration) bool {
	if s.phase != told && s.phase != elsewhere {
		return false
	}
	if age := now.Sub(s.at); age >= local || age >= s.rec.Left {
		return true
	}
	select {
	case <-s.wake: // nil if nobody listens
		return true
	default:
		return false
	}
}

// deafen ends listening for what others do.
func (s *seat) deafen() {
	if s.stop != nil {
		s.stop()
		s.wake, s.stop = nil, nil
	}
}
