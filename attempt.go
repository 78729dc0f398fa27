package interlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const (
	// longestPoll bounds how long a waiter relies on being woken.
	longestPoll = time.Second

	// An engine that fails is asked again after pauses from leastPause to
	// mostPause, and given up after outage, or after briefOutage by those who
	// wanted to ask only once.
	leastPause  = 50 * time.Millisecond
	mostPause   = time.Second
	outage      = 5 * time.Second
	briefOutage = 2 * time.Second

	// place is how long the engine keeps the place in line of one who does not
	// ask again. It is what the death of a waiter costs those behind it.
	place = 5 * time.Second

	// A grant of which less than 1/leastLeft is left when it arrives is given
	// back: the engine is too slow for that lease.
	leastLeft = 10
)

var errSlow = errors.New("the engine took so long to answer that little of the lease was left; use a longer one")

// An attempt is one acquisition, asked for until there is an answer. Its id
// stays the same throughout, so that the engine recognises it.
type attempt struct {
	mutex  *Mutex
	req    engine.Request
	direct bool
	once   bool
	ear    *ear
	busy   func(seen) // told of every vain try; may be nil

	tries   int       // how often the engine was asked
	unsure  bool      // an answer was lost, so the lock may be ours
	sent    time.Time // when it was last asked
	down    time.Time // since when it has been failing; zero if it has not
	failed  int       // how often in a row
	trouble error     // how, the last time
	rival   seen      // who was last seen with the lock
	waiting bool      // counted and traced as a waiter
	placed  bool      // the engine keeps a place in line for it
}

// stand asks the engine until the lock is granted or there is no point in
// asking again.
func (m *Mutex) stand(ctx context.Context, once bool, e *ear, busy func(seen)) (grant, error) {
	a := attempt{mutex: m, once: once, ear: e, busy: busy}
	a.req, a.direct = m.request(ctx, once)
	g, err := a.run(ctx)
	if a.waiting {
		m.core.stats.waiting.Add(-1)
	}
	switch {
	case err == nil:
	case a.unsure:
		m.core.cleanUp(a.req, m.opts.trace, a.sent)
	case a.placed:
		m.core.stepOut(a.req)
	}
	return g, err
}

func (a *attempt) run(ctx context.Context) (grant, error) {
	c := a.mutex.core
	for {
		a.ear.forget()
		a.sent = time.Now()
		got, err := c.engine.Acquire(ctx, a.req)
		a.tries++
		if err == nil {
			g := grant{req: a.req, fence: got.Fence, sent: a.sent, sure: watchdog.SureUntil(a.sent, a.req.Lease), tries: a.tries, direct: a.direct, local: got.Local}
			if time.Until(g.sure) >= a.req.Lease/leastLeft {
				return g, nil
			}
			err = a.giveBack(ctx)
		}
		pause, err := a.judge(ctx, err)
		if err != nil {
			return grant{}, err
		}
		if err := c.rest(ctx, pause, a.ear.wake); err != nil {
			return grant{}, a.ended(err)
		}
	}
}

// judge decides what an unsuccessful try means: how long to pause before the
// next one, or that there is none.
func (a *attempt) judge(ctx context.Context, err error) (time.Duration, error) {
	if busy := asBusy(err); busy != nil {
		return a.refused(busy)
	}
	switch {
	case errors.Is(err, engine.ErrUnknown):
		a.unsure, a.req.Retry = true, true
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrOverloaded):
	case ctx.Err() != nil:
		return 0, a.ended(context.Cause(ctx))
	default: // asking again would not help
		return 0, fmt.Errorf("interlock: acquiring %q: %w", a.req.Key, err)
	}
	if ctx.Err() != nil && a.rival.holder != "" {
		return 0, a.ended(context.Cause(ctx))
	}
	if ctx.Err() != nil {
		return 0, a.failure(withCause(err, context.Cause(ctx)))
	}
	now := time.Now()
	if a.failed == 0 {
		a.down = now
	}
	a.failed, a.trouble = a.failed+1, err
	pause := Exponential(leastPause, mostPause)(a.failed)
	limit := outage
	if a.once {
		limit = briefOutage
	}
	if now.Add(pause).Sub(a.down) > limit {
		return 0, a.failure(err)
	}
	return pause, nil
}

// refused handles that somebody else has the lock.
func (a *attempt) refused(busy *engine.BusyError) (time.Duration, error) {
	m := a.mutex
	a.failed, a.rival = 0, seenBusy(busy)
	a.placed = a.req.QueueLease > 0
	if a.busy != nil {
		a.busy(a.rival)
	}
	if a.once {
		return 0, a.rival.contended(a.req.Key, nil)
	}
	if !a.waiting {
		a.waiting = true
		m.core.stats.waiting.Add(1)
		if t := m.opts.trace; t != nil && t.Waiting != nil {
			t.Waiting(Waiting{Key: a.req.Key, Kind: m.kind, Holder: busy.Holder, Ahead: busy.Ahead, Left: busy.Left})
		}
	}
	if m.opts.poll != nil {
		pause := max(m.opts.poll(a.tries), time.Millisecond)
		if a.placed { // or the place would be gone before it is asked for again
			pause = min(pause, place/2)
		}
		return pause, nil
	}
	a.ear.listen(m.core, a.req)
	pause := longestPoll
	if busy.Left > 0 && busy.Left < pause {
		pause = busy.Left + time.Millisecond
	}
	return max(backoff.Jitter(pause), time.Millisecond), nil
}

// giveBack returns a grant that came too late to be of use, and goes on with a
// new attempt: what was given up stays so.
func (a *attempt) giveBack(ctx context.Context) error {
	m := a.mutex
	if _, err := m.core.release(a.req); err != nil {
		m.core.cleanUp(a.req, m.opts.trace, a.sent)
	}
	a.req, _ = m.request(ctx, a.once)
	a.placed = false
	if a.direct {
		a.ear.close() // it listened for the one before
	}
	return fmt.Errorf("%w: %w", engine.ErrUnavailable, errSlow)
}

// ended says why waiting ended without the lock.
func (a *attempt) ended(cause error) error {
	if a.failed > 0 && a.rival.holder == "" {
		return a.failure(withCause(a.trouble, cause))
	}
	if !a.waiting && cause != ErrClosed { //nolint:errorlint // nobody was seen with the lock
		return unanswered(a.req.Key, cause)
	}
	return a.rival.gaveUp(a.req.Key, cause)
}

// failure says that the engine could not be asked.
func (a *attempt) failure(err error) error {
	if a.unsure && !errors.Is(err, engine.ErrUnknown) {
		err = fmt.Errorf("%w: %w", engine.ErrUnknown, err)
	}
	return fmt.Errorf("interlock: acquiring %q: %w", a.req.Key, err)
}

// withCause says what went wrong and why it was not tried again.
func withCause(err, cause error) error { return fmt.Errorf("%w (%w)", err, cause) }

// asBusy is errors.As without its allocation on the usual way.
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
