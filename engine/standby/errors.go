package standby

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A SwitchingError reports that nothing is granted since there was a switch, and
// what was granted before it may not be over. It matches [engine.ErrUnavailable].
type SwitchingError struct {
	To    Side
	Epoch uint64    // the number of the switch
	Until time.Time // from when on locks are granted again
}

// Error implements error.
func (e *SwitchingError) Error() string {
	return fmt.Sprintf("standby: switched to %v (epoch %d): nothing is granted until %s, when all that was granted before is over",
		e.To, e.Epoch, e.Until.Format("15:04:05.000"))
}

// Is makes every SwitchingError match [engine.ErrUnavailable].
func (e *SwitchingError) Is(target error) bool { return target == engine.ErrUnavailable }

// An PartialSwitchError reports a side that could not be told of a switch.
type PartialSwitchError struct {
	Side Side
	To   Side
	Done bool // the switch was made all the same
	Err  error
}

// Error implements error.
func (e *PartialSwitchError) Error() string {
	if e.Done {
		return fmt.Sprintf("standby: switched to %v, but %v could not be told: "+
			"the first process that reaches it will tell it, and what is only to be had there is not granted before: %v", e.To, e.Side, e.Err)
	}
	return fmt.Sprintf("standby: nothing was switched: %v cannot be told, and who reaches it would still be granted locks there: "+
		"make sure that nobody does, and use Force: %v", e.Side, e.Err)
}

// Unwrap returns why it could not be told.
func (e *PartialSwitchError) Unwrap() error { return e.Err }

// unavailable says why nothing is granted for now.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("standby: %w: %w", engine.ErrUnavailable, fmt.Errorf(format, args...))
}
