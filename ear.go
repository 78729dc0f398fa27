package interlock

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An ear hears when a lock may have become free. The zero value is closed, and
// costs nothing until it is opened.
type ear struct {
	wake <-chan struct{}
	stop func()
}

// listen opens the ear, unless the engine has no notifications to offer.
func (e *ear) listen(c *core, r engine.Request) {
	if e.wake == nil && c.caps.Notifier != nil {
		e.wake, e.stop = c.caps.Notifier.Notify(r)
	}
}

func (e *ear) open() bool { return e.wake != nil }

// forget drops what was heard so far: an attempt made after it sees as much.
func (e *ear) forget() {
	select {
	case <-e.wake:
	default:
	}
}

func (e *ear) close() {
	if e.wake != nil {
		e.stop()
		e.wake, e.stop = nil, nil
	}
}

// rest waits for d to pass, or until wake says to go on. It fails if waiting
// is to end.
func (c *core) rest(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closing:
		return ErrClosed
	}
	return nil
}
