package interlock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A Latch is closed until it has been counted down a number of times, and open
// from then on: for those who must wait until several others are done.
type Latch struct {
	core *core
	req  engine.Request
	opts options
}

// latchLife is how long a latch is remembered by default after it was last asked
// for.
const latchLife = time.Hour

// Latch returns the latch named key, which opens when it has been counted down n
// times. It comes into being when it is first counted down or waited for; a
// number that differs from the first is of no consequence.
//
// It is forgotten an hour after it was last counted down, looked at or waited
// for, or after the time set by [Lease], and then closed as if new. So give each
// use a key of its own.
func (c *Client) Latch(key string, n int, opts ...Option) *Latch {
	m := c.lock(engine.Exclusive, key, opts) // for its key and options
	l := &Latch{core: c.core, opts: m.opts}
	l.req = engine.Request{Key: m.key, Kind: engine.Latch, Holder: c.core.id + ":0", Lease: latchLife, Limit: n}
	if l.opts.explicit {
		l.req.Lease = l.opts.lease
	}
	if l.opts.err == nil && c.core.caps.Latcher == nil {
		l.opts.err = lacks(c.core.engine, "latches")
	}
	if n < 1 {
		l.opts.reject("Latch(%q, %d): must be counted down at least once", key, n)
	}
	return l
}

// Key returns the key of the latch, prefix included.
func (l *Latch) Key() string { return l.req.Key }

// CountDown counts once and returns how many are still missing. An engine that
// fails is asked again, for two seconds at most, and counts once all the same.
func (l *Latch) CountDown(ctx context.Context) (left int, err error) {
	r := l.req
	r.Attempt = l.core.id + ":" + strconv.FormatUint(l.core.seq.Add(1), 10)
	return l.ask(ctx, r, briefOutage)
}

// Left returns how many are still missing; zero means that the latch is open.
func (l *Latch) Left(ctx context.Context) (int, error) { return l.ask(ctx, l.req, briefOutage) }

// Wait returns nil once the latch is open. If ctx is done before, or the time set
// by [Wait] is over, the error matches [ErrNotOpen] as well as the reason.
func (l *Latch) Wait(ctx context.Context) error {
	if l.opts.bounded && l.opts.wait == 0 { // one look
		left, err := l.ask(ctx, l.req, briefOutage)
		if err == nil && left > 0 {
			err = l.closedStill(left, errWaited)
		}
		return err
	}
	if l.opts.bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.opts.wait, errWaited)
		defer cancel()
	}
	var e ear
	defer e.close()
	for {
		e.forget()
		left, err := l.ask(ctx, l.req, outage)
		if err != nil || left == 0 {
			return err
		}
		e.listen(l.core, l.req)
		pause := min(longestPoll, l.req.Lease/watchdog.RenewPart) // to look is what keeps it from being forgotten
		if err := l.core.rest(ctx, backoff.Jitter(pause), e.wake); err != nil {
			return l.closedStill(left, err)
		}
	}
}

func (l *Latch) closedStill(left int, cause error) error {
	return fmt.Errorf("%w: %q is to be counted down %d more times: %w", ErrNotOpen, l.req.Key, left, cause)
}

// ask asks the engine until it answers, for as long as limit.
func (l *Latch) ask(ctx context.Context, r engine.Request, limit time.Duration) (int, error) {
	switch {
	case l.opts.err != nil:
		return 0, l.opts.err
	case l.core.closed.Load():
		return 0, fmt.Errorf("%w: latch %q cannot be used any more", ErrClosed, r.Key)
	}
	start := time.Now()
	for tries := 1; ; tries++ {
		left, err := l.core.caps.Latcher.CountDown(ctx, r)
		if err == nil {
			return left, nil
		}
		if ctx.Err() == nil && (!engine.Temporary(err) || time.Since(start) > limit) {
			return 0, fmt.Errorf("interlock: latch %q: %w", r.Key, err)
		}
		r.Retry = true
		if ended := l.core.rest(ctx, Exponential(leastPause, mostPause)(tries), nil); ended != nil {
			return 0, fmt.Errorf("%w, as far as is known: %q: %w: %w", ErrNotOpen, r.Key, ended, err)
		}
	}
}
