package guard

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/detach"
)

// close implements Guard.Close.
func (c *core) close(ctx context.Context) error {
	if c.closed.CompareAndSwap(false, true) {
		close(c.closing)
		if c.release != nil {
			c.release()
			c.release = nil // it refers to the client, which must not be kept
		}
	}
	var err error
	select {
	case <-c.watchdog.Empty():
	case <-ctx.Done():
		claims := c.watchdog.All()
		for _, w := range claims {
			w.(*claim).lose(interlock.ErrClosed)
		}
		if len(claims) > 0 {
			err = fmt.Errorf("guard: closed with %d claims still running, whose outcome is now unknown: %w", len(claims), context.Cause(ctx))
		}
	}
	c.client.Store(nil)
	c.inflight.close()
	c.tasks.Drain(ctx, detach.Timeout)
	if n := c.unstored.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("guard: closed with %d results that the engine did not accept: %w", n, ErrNotStored))
	}
	if n := c.unguarded.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("guard: closed while %d calls still run unguarded", n))
	}
	return err
}
