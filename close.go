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
// every lock is released or ctx is done. Locks still held then are released;
// their holders lose them with ErrClosed as the reason, and the error of Close
// says how many locks that were. Renewal stops last.
//
// When Close returns, no goroutine of the client is left, unless ctx was done
// and the engine did not answer for another 2 seconds. Close also runs the
// functions registered with [Client.OnClose], and closes the guards of
// directives.
//
// Close does not close the engine. The code that opened the engine closes it.
func (c *Client) Close(ctx context.Context) error {
	if c.core.closed.CompareAndSwap(false, true) {
		close(c.core.closing)
	}
	waitHooks := c.core.closeHooks.start(ctx)
	var err error
	select {
	case <-c.core.watchdog.Empty():
	case <-ctx.Done():
		if n := c.core.dropAll(ErrClosed); n > 0 {
			err = fmt.Errorf("interlock: closed and released %d locks that were still held: %w", n, context.Cause(ctx))
		}
	}
	err = errors.Join(err, waitHooks())
	c.core.registration.expire()
	c.core.tasks.Drain(ctx, detach.Timeout)
	return err
}

// ReleaseAll releases every lock that this client holds, as an operator's last
// resort, and returns their number. It cancels the holders' contexts with
// [ErrRevoked] as the reason. It waits for the engine, 2 seconds at most.
func (c *Client) ReleaseAll() int { return c.core.dropAll(ErrRevoked) }

// dropAll ends every hold and releases its lock. The releases run in parallel,
// so that an unreachable engine costs one timeout.
func (c *core) dropAll(why error) int {
	var (
		calls sync.WaitGroup
		n     int
	)
	for _, x := range c.watchdog.All() {
		if l := x.(*lease); l.lose(why) {
			n++
			calls.Go(func() { c.releaseDropped(l) })
		}
	}
	calls.Wait()
	return n
}

// releaseDropped releases the lock of a hold that was ended from outside.
func (c *core) releaseDropped(l *lease) {
	l.opts.counters.dropped.Add(1)
	res, err := c.release(l.req)
	switch {
	case err != nil:
		l.opts.unreleased(l.Parent(), &l.req, time.Since(l.since), err)
	case res.Outcome == engine.Released:
		l.opts.counters.released.Add(1)
	}
}

// OnClose registers f to run when the client is closed, for objects that must
// end with it. Close runs all such functions in parallel while it waits for
// locks, passes them its context, and returns their errors. If the client is
// closed already, OnClose calls f at once with a cancelled context.
//
// Clients made by With are closed together and share these functions. Calling
// stop removes f.
func (c *Client) OnClose(f func(context.Context) error) (stop func()) {
	h := &c.core.closeHooks
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(ErrClosed)
		_ = f(ctx) // Close no longer collects errors
		return func() {}
	}
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = make(map[*closeHook]struct{})
	}
	hook := &closeHook{f}
	h.all[hook] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.all, hook)
	}
}

// closeHooks are the functions registered with OnClose.
type closeHooks struct {
	mu     sync.Mutex
	all    map[*closeHook]struct{}
	closed bool
}

type closeHook struct {
	f func(context.Context) error
}

// start runs the hooks, once, and returns a function that waits for them.
func (h *closeHooks) start(ctx context.Context) (wait func() error) {
	h.mu.Lock()
	all := h.all
	h.all, h.closed = nil, true
	h.mu.Unlock()
	var (
		calls sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	for hook := range all {
		calls.Go(func() {
			if err := hook.f(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	return func() error {
		calls.Wait()
		return errors.Join(errs...)
	}
}
