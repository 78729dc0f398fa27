package interlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/retry"
)

// A Quota bounds how often something is executed: at most n times per key in each window
// of time, across all processes. Every execution takes one unit. The unit counts until
// its window ends, whether the execution succeeds or fails, unless it is given back.
//
// The engine's clock decides which window it is. If the engine loses its data, or a failover
// loses the last writes, the lost units no longer count.
type Quota struct {
	core   *core
	key    string // prefix included
	limit  int
	window Window
	opts   options
}

// MaxQuota is the largest limit of a [Quota]. Engines store every unit, so that a repeated
// request takes no second one.
const MaxQuota = 100_000

// Quota returns the quota named key: at most n executions in each window. Quotas with
// different windows are independent, even if they have the same key, and so are quotas and
// locks. The engine does not store n: each client applies its own.
//
//	orders := client.Quota("orders:"+user, 3, interlock.PerDay(shanghai))
//
// Of the options, quotas use Prefix, WithName and [Wait].
func (c *Client) Quota(key string, n int, w Window, opts ...Option) *Quota {
	q := &Quota{core: c.core, limit: n, window: w}
	q.key, q.opts = c.named(key, opts)
	if q.opts.err == nil && c.core.caps.Quotas == nil {
		q.opts.err = unsupported(c.core.engine, "quotas")
	}
	if n < 1 || n > MaxQuota {
		q.opts.reject("Quota(%q, %d): must have from 1 to %d units", key, n, MaxQuota)
	}
	if err := w.check(); err != nil {
		q.opts.reject("Quota(%q, %d): %v", key, n, err)
	}
	return q
}

// Key returns the key of the quota, prefix included.
func (q *Quota) Key() string { return q.key }

// Do calls fn after taking a unit. If no unit is left, it returns a *[QuotaError] and does
// not call fn. If fn returns an error made by [GiveBack], the unit is given back.
func (q *Quota) Do(ctx context.Context, fn func(context.Context) error) error {
	unit, err := q.Take(ctx)
	if err != nil {
		return err
	}
	err = fn(ctx)
	if GivesBack(err) {
		return errors.Join(err, unit.GiveBack(ctx))
	}
	return err
}

// GiveBack wraps err to report that nothing was executed, so that [Quota.Do] gives the unit
// back. It returns nil if err is nil.
func GiveBack(err error) error {
	if err == nil {
		return nil
	}
	return &abortedError{err}
}

// GivesBack reports whether err was made by [GiveBack].
func GivesBack(err error) bool {
	var aborted *abortedError
	return errors.As(err, &aborted)
}

// An abortedError is an error that GiveBack wrapped.
type abortedError struct{ error }

// Unwrap returns the error that GiveBack was called with.
func (e *abortedError) Unwrap() error { return e.error }

// Take takes a unit. If none is left, it returns a *[QuotaError], which says when to
// retry. With the option [Wait], it waits for a unit that becomes free in that time.
//
// If a reply of the engine is lost, Take asks again without taking a second unit. After 2
// seconds it returns an error that matches [ErrOutcomeUnknown]. In the background, the client
// then tries for another minute to give the unit back. If that fails as well, the unit counts
// although nothing was executed.
func (q *Quota) Take(ctx context.Context) (*QuotaUnit, error) {
	t := &taking{attempt: q.core.id + ":" + strconv.FormatUint(q.core.seq.Add(1), 10), giveUp: time.Now().Add(q.opts.wait)}
	unit, err := q.take(ctx, t)
	if err != nil && t.maybe != nil && t.attempt != "" {
		q.undo(*t.maybe, lateReturns)
	}
	return unit, err
}

// A taking is one call of Take.
type taking struct {
	attempt string
	giveUp  time.Time     // when the wait ends; see Wait
	maybe   *engine.Quota // a request whose reply was lost; it may still arrive
}

func (q *Quota) take(ctx context.Context, t *taking) (*QuotaUnit, error) {
	for {
		r, use, err := q.ask(ctx, t)
		switch {
		case err != nil:
			return nil, err
		case use.Granted:
			return &QuotaUnit{quota: q, req: r, usage: q.usage(r, use), late: t.maybe != nil}, nil
		}
		refused := &QuotaError{Key: q.key, Window: q.window, Limit: q.limit, Used: use.Used, RetryAfter: use.Next}
		if !t.worthWaiting(ctx, use.Next) {
			return nil, refused
		}
		if _, err := q.core.sleep(ctx, use.Next, nil, nil); err != nil {
			refused.Err = err
			return nil, refused
		}
	}
}

// worthWaiting reports whether a unit becomes free before the wait ends. The wait bounds the
// pauses, not the requests: a request that it cut short would have an unknown outcome.
func (t *taking) worthWaiting(ctx context.Context, next time.Duration) bool {
	free := time.Now().Add(next)
	deadline, ok := ctx.Deadline()
	return !free.After(t.giveUp) && (!ok || free.Before(deadline))
}

// Usage returns how many units are used now. It takes none.
func (q *Quota) Usage(ctx context.Context) (QuotaUsage, error) {
	r, use, err := q.ask(ctx, new(taking))
	return q.usage(r, use), err
}

// ask sends a request for a unit, or only for the usage if t has no attempt. If the engine's
// clock is in another calendar window, it asks again for that one. It does so twice, because
// a window may end between two requests.
func (q *Quota) ask(ctx context.Context, t *taking) (engine.Quota, engine.Usage, error) {
	switch {
	case q.opts.err != nil:
		return engine.Quota{}, engine.Usage{}, q.opts.err
	case q.core.closed.Load():
		return engine.Quota{}, engine.Usage{}, fmt.Errorf("%w: quota %q can no longer be used", ErrClosed, q.key)
	}
	for now, tries := time.Now(), 1; ; tries++ {
		r := q.window.request(q.key, now)
		r.Attempt, r.Limit = t.attempt, q.limit
		use, err := q.send(ctx, r, t)
		switch {
		case err != nil:
			return r, use, fmt.Errorf("interlock: quota %q: %w", q.key, err)
		case !use.Outside:
			return r, use, nil
		case tries == 3:
			return r, use, fmt.Errorf("interlock: quota %q: %w: the engine's clock moved from %v to %v, into another window, during the call; check the clock of its server",
				q.key, ErrUnavailable, now, use.Now)
		}
		now = use.Now
	}
}

// send sends a request until the engine answers.
func (q *Quota) send(ctx context.Context, r engine.Quota, t *taking) (engine.Usage, error) {
	use, err := persist(ctx, q.core, retry.BriefOutage, func() (engine.Usage, error) {
		use, err := q.core.caps.Quotas.Take(ctx, r)
		if errors.Is(err, engine.ErrUnknown) {
			lost := r
			t.maybe = &lost
		}
		return use, err
	})
	if err != nil && t.maybe != nil && t.attempt != "" && !errors.Is(err, engine.ErrUnknown) {
		err = fmt.Errorf("%w: %w", engine.ErrUnknown, err)
	}
	return use, err
}

// lateReturns are the pauses between tries to give back a unit that a late request may take.
var lateReturns = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 30 * time.Second}

// undo gives back, in the background, the unit of a request whose reply was lost. It does so
// again after each of the pauses: the engine keeps no tombstone, and may grant a request
// that arrives late. It ends early if the client closes.
func (q *Quota) undo(r engine.Quota, pauses []time.Duration) {
	q.core.tasks.Go(func() {
		_, _ = q.giveBack(context.Background(), r)
		if len(pauses) == 0 {
			return
		}
		time.AfterFunc(pauses[0], func() {
			if !q.core.closed.Load() {
				q.undo(r, pauses[1:])
			}
		})
	})
}

// giveBack gives the unit of a request back, and reports whether it counted.
func (q *Quota) giveBack(ctx context.Context, r engine.Quota) (bool, error) {
	return persist(ctx, q.core, retry.BriefOutage, func() (bool, error) { return q.core.caps.Quotas.Return(ctx, r) })
}

// usage returns an answer of the engine as the caller sees it.
func (q *Quota) usage(r engine.Quota, use engine.Usage) QuotaUsage {
	return QuotaUsage{Limit: r.Limit, Used: use.Used, Next: use.Next, Local: use.Local}
}

// A QuotaUsage says how many units of a quota are used.
type QuotaUsage struct {
	Limit int
	Used  int           // may be above Limit if another client has a higher one
	Next  time.Duration // until a unit becomes free; zero if none is used
	Local bool          // counted in this process only: the engine has degraded
}

// Left returns how many units are left.
func (u QuotaUsage) Left() int { return max(0, u.Limit-u.Used) }

// A QuotaUnit is one execution that a [Quota] has admitted.
type QuotaUnit struct {
	quota *Quota
	req   engine.Quota
	usage QuotaUsage
	late  bool // a reply was lost, so an earlier request may still arrive
}

// Usage returns the usage of the quota when the unit was taken.
func (u *QuotaUnit) Usage() QuotaUsage { return u.usage }

// GiveBack gives the unit back, because the execution did not happen. It works even if ctx
// is done. A unit whose window has ended, or that was given back before, is no error.
func (u *QuotaUnit) GiveBack(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if u.late {
		defer u.quota.undo(u.req, lateReturns)
	}
	if _, err := u.quota.giveBack(ctx, u.req); err != nil {
		return fmt.Errorf("interlock: give back a unit of quota %q: %w", u.quota.key, err)
	}
	return nil
}

// ErrQuota means that no unit of a quota is left. Errors that match it are a *[QuotaError].
var ErrQuota = errors.New("interlock: quota exceeded")

// A QuotaError says how much of a quota is used, and when to retry.
type QuotaError struct {
	Key        string
	Window     Window
	Limit      int
	Used       int
	RetryAfter time.Duration // until a unit becomes free
	Err        error         // why the wait was cut short, or nil
}

// Error implements error.
func (e *QuotaError) Error() string {
	s := fmt.Sprintf("interlock: quota %q is exceeded: %d of %d units are used %s; retry in %v",
		e.Key, e.Used, e.Limit, e.Window, e.RetryAfter.Round(time.Millisecond))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes every QuotaError match [ErrQuota].
func (e *QuotaError) Is(target error) bool { return target == ErrQuota }

// Unwrap returns why the wait was cut short, or nil.
func (e *QuotaError) Unwrap() error { return e.Err }
