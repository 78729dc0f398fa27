package interlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/retry"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// queueLease is how long the engine keeps the position of a waiter that does not
// ask again. A dead waiter delays the waiters behind it by at most this long.
const queueLease = 5 * time.Second

// An attempt is one acquisition. It asks the engine until there is an answer,
// always with the same id, so that the engine recognises a repeated request.
type attempt struct {
	mutex  *Mutex
	req    engine.Request
	direct bool // the local queue is not used
	once   bool // one attempt: a refusal ends it
	sub    *subscription
	leader *leader // tells the local queue what the engine answers; nil if direct
	turn   turn

	tries        int           // requests sent to the engine
	polls        int           // pauses that Poll has set
	pollPause    time.Duration // the pause that Poll set last
	cutShort     bool          // another goroutine cut the last pause short
	maybeGranted bool          // a reply was lost, so the lock may have been granted
	sent         time.Time     // when the last request was sent
	outage       outage        // the engine's failures since its last answer
	rival        rival         // the holder last seen
	waiting      bool          // counted and traced as a waiter
	waitStart    time.Time     // when it began to wait
	queued       bool          // the engine keeps a queue position for it
	unqueued     bool          // the engine refused to queue it; see stopTurning
}

// An outage is a series of failures of the engine without an answer between.
type outage struct {
	since    time.Time
	failures int
	err      error         // the last failure; nil if the engine answers
	lease    time.Duration // if above zero, the engine is not down, but too slow for leases up to this length
}

// after returns the outage with one more failure.
func (o outage) after(err error, lease time.Duration) outage {
	if o.err == nil {
		o.since = time.Now()
	}
	o.failures, o.err, o.lease = o.failures+1, err, 0
	if errors.Is(err, retry.ErrSlow) { // the grant came too late for this lease, but not for a longer one
		o.lease = lease
	}
	return o
}

// of returns the outage for a caller with the given lease that arrived at the time since.
// Failures before that time do not count. If the outage does not affect the caller, of
// returns the zero value.
func (o outage) of(lease time.Duration, since time.Time) outage {
	if o.err == nil || o.lease > 0 && lease > o.lease {
		return outage{}
	}
	if o.since.Before(since) {
		o.since = since
	}
	return o
}

// lasts reports whether a retry after pause would come too late: a caller retries a
// failing engine only for a limited time.
func (o outage) lasts(pause time.Duration, once bool) bool {
	limit := retry.Outage
	if once {
		limit = retry.BriefOutage
	}
	return time.Now().Add(pause).Sub(o.since) > limit
}

// run asks the engine until the lock is granted or retrying is pointless. It
// cleans up after a request without an answer.
func (a *attempt) run(ctx context.Context) (grant, error) {
	m := a.mutex
	a.req, a.direct = m.newRequest(ctx, a.once)
	a.direct = a.direct || a.leader == nil
	a.takeTurn()
	g, err := a.retry(ctx)
	if a.waiting {
		m.opts.counters.waiting.Add(-1)
	}
	switch {
	case err == nil:
	case a.maybeGranted:
		m.core.cleanUp(a.req, &m.opts, a.sent)
	case a.queued:
		m.core.leaveQueue(a.req)
	}
	return g, err
}

func (a *attempt) retry(ctx context.Context) (grant, error) {
	c := a.mutex.core
	for {
		a.sub.drain()
		a.sent = time.Now()
		if a.tries > 0 {
			a.leader.asks(a.sent)
		}
		got, err := c.engine.Acquire(ctx, a.req)
		a.tries++
		if err == nil {
			g := grant{req: a.asHeld(), fence: got.Fence, sent: a.sent, safeUntil: watchdog.SafeUntil(a.sent, a.req.Lease), handovers: a.turn.grantsInRow, tries: a.tries, waitStart: a.waitStart, direct: a.direct, local: got.Local}
			if !retry.TooLate(a.sent, time.Now(), a.req.Lease) {
				return g, nil
			}
			err = a.giveBack(ctx)
		}
		pause, err := a.judge(ctx, err)
		if err != nil {
			return grant{}, err
		}
		if a.cutShort, err = c.sleep(ctx, pause, a.sub.wake, a.leader.wake()); err != nil {
			return grant{}, a.stopped(err)
		}
	}
}

// judge returns how long to pause before the next request, or the error that
// ends the attempt.
func (a *attempt) judge(ctx context.Context, err error) (time.Duration, error) {
	if busy := asBusy(err); busy != nil {
		return a.refused(busy)
	}
	switch {
	case errors.Is(err, engine.ErrUnknown):
		a.maybeGranted, a.req.Retry = true, true
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrOverloaded):
	case ctx.Err() != nil && a.waiting && a.outage.err == nil && !a.held(): // the engine has fallen silent
		return 0, unanswered(a.req.Key, context.Cause(ctx))
	case ctx.Err() != nil:
		return 0, a.stopped(context.Cause(ctx))
	case a.turning():
		a.stopTurning(err)
		return 0, nil
	default: // a retry would not help
		return 0, fmt.Errorf("interlock: acquire %q: %w", a.req.Key, err)
	}
	if ctx.Err() != nil && a.held() {
		return 0, a.stopped(context.Cause(ctx))
	}
	if ctx.Err() != nil {
		return 0, a.failure(withCause(err, context.Cause(ctx)))
	}
	a.outage = a.outage.after(err, a.req.Lease)
	a.leader.failed(a.outage)
	pause := retry.Delay(a.outage.failures)
	if a.outage.lasts(pause, a.once) {
		return 0, a.failure(err)
	}
	return pause, nil
}

// held reports whether another holder had the lock when the engine last
// answered, and nothing suggests that the engine is down.
func (a *attempt) held() bool {
	return a.rival.holder != "" && a.outage.err == nil && time.Since(a.sent) < retry.Silence
}

// refused handles a lock that another holder has.
func (a *attempt) refused(busy *engine.BusyError) (time.Duration, error) {
	m := a.mutex
	r := rivalFrom(busy)
	a.queued = a.req.QueueLease > 0
	wasTurning := a.turning()
	var listen bool
	listen, a.turn = a.leader.refused(r, a.once, m.opts.poll != nil, a.overtakenBy(r), a.tries == 1)
	a.outage, a.rival = outage{}, r
	a.takeTurn()
	if a.once {
		return 0, a.rival.contended(a.req.Key, nil)
	}
	if !a.waiting {
		a.waiting, a.waitStart = true, time.Now()
		m.opts.counters.waiting.Add(1)
		m.contend(a.waitStart, busy.Holder)
		if t := m.opts.trace; t != nil && t.Waiting != nil {
			t.Waiting(Waiting{Key: a.req.Key, Name: m.opts.business, Kind: m.kind, Holder: busy.Holder, Ahead: busy.Ahead, Left: busy.Left})
		}
	}
	if a.turning() && !wasTurning {
		return 0, nil // queue at once
	}
	if m.opts.poll != nil && !listen {
		return a.poll(), nil
	}
	a.sub.subscribe(m.core, a.asHeld()) // turning or not, all leaders use the same channel
	pause := retry.MaxPoll
	if a.turning() {
		pause = turnLease / 2
	}
	if busy.Left > 0 && busy.Left < pause {
		pause = busy.Left + time.Millisecond
	}
	return max(backoff.Jitter(pause), time.Millisecond), nil
}

// poll returns the pause that Poll sets. After a pause that another goroutine cut
// short, it returns the same pause again, without a call of Poll.
func (a *attempt) poll() time.Duration {
	if !a.cutShort || a.polls == 0 {
		a.polls++
		a.pollPause = max(a.mutex.opts.poll(a.polls), time.Millisecond)
	}
	if a.queued { // ask again before the queue position expires
		return min(a.pollPause, a.req.QueueLease/2)
	}
	return a.pollPause
}

// giveBack returns a grant that came too late to be useful, and starts over
// with a new attempt id.
func (a *attempt) giveBack(ctx context.Context) error {
	m := a.mutex
	if _, err := m.core.release(a.req); err != nil {
		m.core.cleanUp(a.req, &m.opts, a.sent)
	}
	a.req, _ = m.newRequest(ctx, a.once)
	a.queued = false
	a.takeTurn()
	if a.direct {
		a.sub.unsubscribe() // it was made for the old holder id
	}
	return retry.ErrSlow
}

// stopped returns the error of an attempt that was cancelled.
func (a *attempt) stopped(cause error) error {
	if a.outage.err != nil {
		return a.failure(withCause(a.outage.err, cause))
	}
	if !a.waiting && cause != ErrClosed { //nolint:errorlint // no holder was seen
		return unanswered(a.req.Key, cause)
	}
	return a.rival.gaveUp(a.req.Key, cause)
}

// failure returns the error of an attempt whose engine failed.
func (a *attempt) failure(err error) error {
	if a.maybeGranted && !errors.Is(err, engine.ErrUnknown) {
		err = fmt.Errorf("%w: %w", engine.ErrUnknown, err)
	}
	return fmt.Errorf("interlock: acquire %q: %w", a.req.Key, err)
}

// withCause adds the reason why a failure was not retried.
func withCause(err, cause error) error { return fmt.Errorf("%w (%w)", err, cause) }

// asBusy is errors.As without an allocation in the common case.
func asBusy(err error) *engine.BusyError {
	if busy, ok := err.(*engine.BusyError); ok { //nolint:errorlint // errors.As follows
		return busy
	}
	var busy *engine.BusyError
	if errors.As(err, &busy) {
		return busy
	}
	return nil
}

// A grant is a lock as the engine granted it. Holders of this process may hand
// it over without asking the engine.
type grant struct {
	req        engine.Request
	fence      uint64
	sent       time.Time // when the last acquire or renewal was sent
	safeUntil  time.Time // the lease is valid at least until then
	handovers  int       // in a row
	tries      int       // requests sent to the engine
	waitStart  time.Time // when the lock was found held; zero if it was free
	handedOver bool      // received from another holder of this process
	direct     bool      // the local queue is not used
	local      bool      // valid in this process only: the engine has degraded
}

// maxHandovers is how many holders of this process may follow the first before
// other processes get their chance.
const maxHandovers = 8

// next returns the grant for the next holder in this process.
func (g grant) next() grant {
	g.fence++
	g.handovers++
	g.tries = 0
	g.handedOver = true
	return g
}

// canHandOver reports whether the grant may be handed over without asking the
// engine. At least three quarters of the lease must be left, so that the next
// holder gets nearly a full lease.
func (g *grant) canHandOver(now time.Time) bool {
	return g.handovers < maxHandovers && g.safeUntil.Sub(now) >= g.req.Lease*3/4-watchdog.MinDrift
}
