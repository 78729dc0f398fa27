package standby

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A SwitchingError reports the freeze after a switch: earlier leases may still be
// valid, so nothing is granted. It matches [engine.ErrUnavailable].
type SwitchingError struct {
	To    Side
	Epoch uint64    // the number of the switch
	Until time.Time // locks are granted again from then on
}

// Error implements error.
func (e *SwitchingError) Error() string {
	return fmt.Sprintf("standby: switched to %v (epoch %d): nothing is granted until %s, when all earlier leases have expired",
		e.To, e.Epoch, e.Until.Format("15:04:05.000"))
}

// Is makes every SwitchingError match [engine.ErrUnavailable].
func (e *SwitchingError) Is(target error) bool { return target == engine.ErrUnavailable }

// A PartialSwitchError reports a side whose switch record could not be written.
type PartialSwitchError struct {
	Side Side
	To   Side
	Done bool // the switch was made nevertheless
	Err  error
}

// Error implements error.
func (e *PartialSwitchError) Error() string {
	if e.Done {
		return fmt.Sprintf("standby: switched to %v, but the record on the %v could not be written: "+
			"the first process that reaches that side writes it, and nothing is granted there before: %v", e.To, e.Side, e.Err)
	}
	return fmt.Sprintf("standby: nothing was switched: the record on the %v cannot be written, and a process that reaches it would still be granted locks there: "+
		"make sure that no process reaches it, and use Force: %v", e.Side, e.Err)
}

// Unwrap returns why the record could not be written.
func (e *PartialSwitchError) Unwrap() error { return e.Err }

// unavailable returns an error that matches engine.ErrUnavailable.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("standby: %w: %w", engine.ErrUnavailable, fmt.Errorf(format, args...))
}
