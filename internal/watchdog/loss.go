package watchdog

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// LossReason turns the error of a renewal, as Gone gets it, into the reason that a
// holder sees. An operator's revocation becomes revoked, the caller's own error.
func LossReason(err, revoked error) error {
	switch {
	case errors.Is(err, engine.ErrRevoked):
		return revoked
	case errors.Is(err, engine.ErrSwitched):
		return engine.ErrSwitched
	}
	return engine.ErrNotHolder
}
