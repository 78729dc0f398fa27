package interlock

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A subscription receives a wake-up when a lock may have become free. The zero
// value is inactive and costs nothing.
type subscription struct {
	wake <-chan struct{}
	stop func()
}

// subscribe starts to listen, if the engine has notifications.
func (s *subscription) subscribe(c *core, r engine.Request) {
	if s.wake == nil && c.caps.Notifier != nil {
		s.wake, s.stop = c.caps.Notifier.Notify(r)
	}
}

func (s *subscription) active() bool { return s.wake != nil }

// drain drops a wake-up that arrived before a request is sent: the request itself
// sees whether the lock is free.
func (s *subscription) drain() {
	select {
	case <-s.wake:
	default:
	}
}

func (s *subscription) unsubscribe() {
	if s.wake != nil {
		s.stop()
		s.wake, s.stop = nil, nil
	}
}

// sleep waits for d, or until a value arrives on wake or asked. It reports whether
// the value was on asked. It returns an error when ctx is done or the client closes.
func (c *core) sleep(ctx context.Context, d time.Duration, wake, asked <-chan struct{}) (bool, error) {
	if d <= 0 {
		return false, nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-asked:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-c.closing:
		return false, ErrClosed
	}
	return false, nil
}
