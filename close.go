package interlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/detach"
)

// Close refuses new locks, ends all waiting with [ErrClosed], and waits until
// every lock is released or ctx is done. What is held then is released all the
// same; its holders lose it with ErrClosed as the reason, and Close says how
// many there were. Renewal stops last, and nothing the client started is left
// when Close returns, unless ctx ended and the engine did not answer for two more
// seconds.
//
// What was made with [Client.OnClose] ends with the client, too, and so do the guards
// of directives.
//
// The engine stays open: it belongs to whoever opened it.
func (c *Client) Close(ctx context.Context) error {
	if c.core.closed.CompareAndSwap(false, true) {
		close(c.core.closing)
	}
	ended := c.core.farewells.begin(ctx)
	var err error
	select {
	case <-c.core.watchdog.Empty():
	case <-ctx.Done():
		if n := c.core.drop(ErrClosed); n > 0 {
			err = fmt.Errorf("interlock: closed with %d locks held, and released them: %w", n, context.Cause(ctx))
		}
	}
	err = errors.Join(err, ended())
	c.core.presence.leave()
	c.core.background.Drain(ctx, detach.Detached)
	return err
}

// ReleaseAll takes every lock that this client holds away from its holder, as
// an operator's last resort, and returns how many there were. The holders'
// contexts end with [ErrRevoked] as the reason. It waits for the engine, two
// seconds at most.
func (c *Client) ReleaseAll() int { return c.core.drop(ErrRevoked) }

// drop ends every hold for the given reason and releases its lock.
func (c *core) drop(why error) int {
	var (
		calls sync.WaitGroup // all at once: an engine that is down must cost one bound, not many
		n     int
	)
	for _, x := range c.watchdog.All() {
		if l := x.(*lease); l.lose(why) {
			n++
			calls.Go(func() { c.dropped(l) })
		}
	}
	calls.Wait()
	return n
}

// dropped releases the lock of a hold that was taken away.
func (c *core) dropped(l *lease) {
	c.stats.dropped.Add(1)
	parting, err := c.release(l.req)
	switch {
	case err != nil:
		c.unreleased(&l.req, l.opts.trace, time.Since(l.begun), err)
	case parting.Outcome == engine.Released:
		c.stats.released.Add(1)
	}
}
