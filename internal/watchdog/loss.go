package watchdog

import (
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// LossReason maps the renewal error that is passed to Gone to the error that the holder
// sees. If an operator revoked the lock, it returns the argument revoked.
func LossReason(err, revoked error) error {
	switch {
	case errors.Is(err, engine.ErrRevoked):
		return revoked
	case errors.Is(err, engine.ErrSwitched):
		return engine.ErrSwitched
	}
	return engine.ErrNotHolder
}
