package interlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/retry"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A Latch opens after it was counted down a given number of times. Use it to
// wait until several other tasks are done.
type Latch struct {
	core *core
	req  engine.Request
	opts options
}

// latchLife is how long a latch is kept after its last use. Lease overrides it.
const latchLife = time.Hour

// Latch returns the latch named key, which opens after n counts. The first use
// creates it and fixes n; a different n later has no effect.
//
// A latch expires an hour after its last use, or after the time set by [Lease];
// after that it is closed again. So use a new key for each task.
func (c *Client) Latch(key string, n int, opts ...Option) *Latch {
	l := &Latch{core: c.core}
	name, o := c.named(key, opts)
	l.opts = o
	l.req = engine.Request{Key: name, Kind: engine.Latch, Holder: c.core.id + ":0", Lease: latchLife, Limit: n}
	if l.opts.explicit {
		l.req.Lease = l.opts.lease
	}
	if l.opts.err == nil && c.core.caps.Latcher == nil {
		l.opts.err = unsupported(c.core.engine, "latches")
	}
	if n < 1 {
		l.opts.reject("Latch(%q, %d): n must be at least 1", key, n)
	}
	return l
}

// Key returns the key of the latch, prefix included.
func (l *Latch) Key() string { return l.req.Key }

// CountDown counts once and returns how many counts are left. It retries an
// engine that fails, for 2 seconds at most; a retry never counts twice.
func (l *Latch) CountDown(ctx context.Context) (left int, err error) {
	r := l.req
	r.Attempt = l.core.id + ":" + strconv.FormatUint(l.core.seq.Add(1), 10)
	return l.ask(ctx, r, retry.BriefOutage)
}

// Left returns how many counts are left; zero means that the latch is open.
func (l *Latch) Left(ctx context.Context) (int, error) { return l.ask(ctx, l.req, retry.BriefOutage) }

// Wait returns nil when the latch is open. If ctx is done first, or the time set
// by [Wait] passes, the error matches [ErrNotOpen] as well as the reason.
func (l *Latch) Wait(ctx context.Context) error {
	if l.opts.bounded && l.opts.wait == 0 { // ask once
		left, err := l.ask(ctx, l.req, retry.BriefOutage)
		if err == nil && left > 0 {
			err = l.notOpen(left, errWaited)
		}
		return err
	}
	if l.opts.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.opts.wait, errWaited)
		defer cancel()
	}
	var sub subscription
	defer sub.unsubscribe()
	for {
		sub.drain()
		left, err := l.ask(ctx, l.req, retry.Outage)
		if err != nil || left == 0 {
			return err
		}
		sub.subscribe(l.core, l.req)
		pause := min(retry.MaxPoll, l.req.Lease/watchdog.RenewalsPerLease) // each request also extends the life of the latch
		if _, err := l.core.sleep(ctx, backoff.Jitter(pause), sub.wake, nil); err != nil {
			return l.notOpen(left, err)
		}
	}
}

func (l *Latch) notOpen(left int, cause error) error {
	return fmt.Errorf("%w: %q needs %d more counts: %w", ErrNotOpen, l.req.Key, left, cause)
}

// ask calls the engine until it answers, or until limit has passed, and returns how
// many counts are left. It counts down only if r has an Attempt.
func (l *Latch) ask(ctx context.Context, r engine.Request, limit time.Duration) (int, error) {
	switch {
	case l.opts.err != nil:
		return 0, l.opts.err
	case l.core.closed.Load():
		return 0, fmt.Errorf("%w: latch %q can no longer be used", ErrClosed, r.Key)
	}
	left, err := persist(ctx, l.core, limit, func() (int, error) {
		left, err := l.core.caps.Latcher.CountDown(ctx, r)
		r.Retry = true
		return left, err
	})
	var late *unansweredError
	switch {
	case errors.As(err, &late):
		return 0, fmt.Errorf("%w: the engine did not answer about %q: %w", ErrNotOpen, r.Key, err)
	case err != nil:
		return 0, fmt.Errorf("interlock: latch %q: %w", r.Key, err)
	}
	return left, nil
}
