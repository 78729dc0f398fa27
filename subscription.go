package interlock

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/retry"
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

// sleep waits for d, or until a value arrives on wake or askNow. It reports whether
// the value was on askNow. It returns an error when ctx is done or the client closes.
func (c *core) sleep(ctx context.Context, d time.Duration, wake, askNow <-chan struct{}) (bool, error) {
	if d <= 0 {
		return false, nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-askNow:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-c.closing:
		return false, ErrClosed
	}
	return false, nil
}

// persist calls an engine until it answers, or until limit has passed. If ctx is done or
// the client closes between two calls, the error is an *unansweredError.
func persist[T any](ctx context.Context, c *core, limit time.Duration, call func() (T, error)) (T, error) {
	start := time.Now()
	for tries := 1; ; tries++ {
		result, err := call()
		if err == nil || ctx.Err() == nil && (!engine.Temporary(err) || time.Since(start) > limit) {
			return result, err
		}
		if _, ended := c.sleep(ctx, retry.Delay(tries), nil, nil); ended != nil {
			return result, &unansweredError{ended: ended, err: err}
		}
	}
}

// An unansweredError says why the caller stopped asking, and the engine's last error.
type unansweredError struct{ ended, err error }

// Error implements error.
func (e *unansweredError) Error() string { return e.ended.Error() + ": " + e.err.Error() }

// Unwrap returns both errors.
func (e *unansweredError) Unwrap() []error { return []error{e.ended, e.err} }
