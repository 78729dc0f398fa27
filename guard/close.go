package guard

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock"
	"github.com/interlock-go/interlock/internal/detach"
)

// shut does what Close says.
func (c *core) shut(ctx context.Context) error {
	if c.closed.CompareAndSwap(false, true) {
		close(c.closing)
	}
	var err error
	select {
	case <-c.dog.Empty():
	case <-ctx.Done():
		wards := c.dog.All()
		for _, w := range wards {
			w.(*claim).lose(interlock.ErrClosed)
		}
		if len(wards) > 0 {
			err = fmt.Errorf("guard: closed with %d claims at work, which nobody will settle: %w", len(wards), context.Cause(ctx))
		}
	}
	c.desk.close()
	c.background.Drain(ctx, detach.Detached)
	if n := c.unstored.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("guard: closed with %d results that the engine could not be told of: %w", n, ErrNotStored))
	}
	if n := c.unguarded.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("guard: closed while %d still run unguarded", n))
	}
	return err
}
