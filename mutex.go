package interlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/trace"
)

// A Locker is a lock of any kind.
type Locker interface {
	Do(ctx context.Context, fn func(context.Context) error) error
	Lock(ctx context.Context) (context.Context, *Hold, error)
	TryLock(ctx context.Context) (context.Context, *Hold, error)
}

// A Mutex is a lock with one holder at a time. It is safe for concurrent use.
type Mutex struct {
	core   *core
	key    string
	opts   options
	kind   engine.Kind
	limit  int    // permits of a semaphore
	holder string // acquire on behalf of this holder; empty for a new one

	// partOfMulti marks one of several locks that are acquired together. Until
	// all of them are held the watchdog renews it, whatever its options say.
	partOfMulti bool
}

var _ Locker = (*Mutex)(nil)

// Key returns the key of the lock, prefix included.
func (m *Mutex) Key() string { return m.key }

// Do calls fn while holding the lock. It returns nil only if fn returned nil
// and the lock was held throughout. If the lock was lost before fn returned,
// the error matches [ErrLost] as well as fn's own error.
//
// Do releases the lock whether fn returns, fails or panics. A failed release is
// not an error of Do: the lease expires, and the [Trace] reports it.
func (m *Mutex) Do(ctx context.Context, fn func(context.Context) error) error {
	return do(ctx, m, fn)
}

func do(ctx context.Context, lock Locker, fn func(context.Context) error) error {
	ctx, hold, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	return hold.run(ctx, fn)
}

// Lock waits for the lock until ctx is done, or for as long as [Wait] allows.
//
// The returned context carries the hold; pass it to the work. It is cancelled
// with a *[LostError] as its cause when the lock is lost, and with
// [ErrReleased] when it is unlocked. Cancelling ctx asks the holder to stop, but
// only Unlock releases the lock: until then the watchdog renews it.
//
// Lock retries an engine that fails, for 5 seconds at most. On error it returns
// ctx itself.
func (m *Mutex) Lock(ctx context.Context) (context.Context, *Hold, error) {
	return m.acquire(ctx, m.opts.bounded && m.opts.wait == 0)
}

// TryLock makes one attempt. If the lock is held, the error is a
// *[ContendedError] that names the holder and says when to retry. TryLock
// retries only an engine that fails, for 2 seconds at most.
func (m *Mutex) TryLock(ctx context.Context) (context.Context, *Hold, error) {
	return m.acquire(ctx, true)
}

// acquire re-enters a lock that ctx holds already, or acquires a new one.
func (m *Mutex) acquire(ctx context.Context, once bool) (context.Context, *Hold, error) {
	if err := m.check(ctx); err != nil {
		return ctx, nil, err
	}
	m, hold, err := m.reenter(ctx)
	if hold != nil || err != nil {
		return ctx, hold, err
	}
	start := time.Now()
	inner, hold, err := m.acquireNew(ctx, once)
	if err != nil {
		m.report(ctx, err, time.Since(start))
	}
	return inner, hold, err
}

// acquireNew acquires the lock without looking at the holds of ctx. The caller reports a
// failure.
func (m *Mutex) acquireNew(ctx context.Context, once bool) (context.Context, *Hold, error) {
	start := time.Now()
	m.core.tasks.Begin()
	defer m.core.tasks.End()
	waitCtx := ctx // bounds the wait, not the work
	if m.opts.bounded && !once {
		var cancel context.CancelFunc
		waitCtx, cancel = context.WithTimeoutCause(ctx, m.opts.wait, errWaited)
		defer cancel()
	}
	g, err := m.core.local.acquire(waitCtx, m, once)
	if err != nil {
		return ctx, nil, err
	}
	l := m.newHold(ctx, g, start)
	if m.core.closed.Load() && l.lose(ErrClosed) { // closed while the engine was asked
		m.core.releaseDropped(l)
		return ctx, nil, m.closed()
	}
	return l, &l.first, nil
}

// check refuses a call that cannot succeed. It runs before anything is sent.
func (m *Mutex) check(ctx context.Context) error {
	if m.opts.err != nil {
		return m.opts.err
	}
	if m.core.closed.Load() {
		return m.closed()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interlock: acquire %q: the context is done: %w", m.key, context.Cause(ctx))
	}
	m.core.warn(m.key, m.opts.trace)
	return nil
}

func (m *Mutex) closed() error {
	return fmt.Errorf("%w: %q can no longer be acquired", ErrClosed, m.key)
}

// newHold turns a grant into a lease with its first hold.
func (m *Mutex) newHold(ctx context.Context, g grant, asked time.Time) *lease {
	now := time.Now()
	waited := now.Sub(asked)
	l := newLease(ctx, m, g, now)
	t := m.opts.trace
	if t != nil && t.Holding != nil {
		l.Init(t.Holding(l.acquired(waited)))
	}
	l.start(waited)
	if t != nil && t.Acquired != nil {
		t.Acquired(l.acquired(waited))
	}
	return l
}

// start counts the lease, and then makes it known to the local queue and the watchdog,
// which may end it at once.
func (l *lease) start(waited time.Duration) {
	l.traceID = trace.ID(l.Parent(), l.opts.traceID) // here, because it may be slow
	s := l.opts.counters
	s.live.Add(1)
	s.acquired.Add(1)
	s.wait.ObserveTraced(waited, l.traceID)
	if l.handedOver {
		s.handedOver.Add(1)
	}
	l.core.local.setHolder(l)
	l.core.watchdog.Add(l, l.since)
	l.core.registration.refresh(l.since)
}

func (l *lease) acquired(waited time.Duration) Acquired {
	var queued time.Duration
	if !l.waitStart.IsZero() {
		queued = l.since.Sub(l.waitStart)
	}
	return Acquired{Context: l.Parent(), Name: l.opts.business, Key: l.req.Key, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence,
		Lease: l.req.Lease, Waited: waited, Queued: queued, Tries: l.tries, HandedOver: l.handedOver, Local: l.local}
}

// report counts and traces a lock that was not acquired.
func (m *Mutex) report(ctx context.Context, err error, waited time.Duration) {
	s, t := m.opts.counters, m.opts.trace
	var busy *ContendedError
	if errors.As(err, &busy) {
		s.contended.Add(1)
		e := Contended{Context: ctx, Key: m.key, Name: m.opts.business, Kind: m.kind, Holder: busy.Holder, Ahead: busy.Ahead, Left: busy.RetryAfter, Waited: waited, Err: busy.Err}
		switch e.Result() {
		case "busy":
			s.busy.Add(1)
			m.contend(time.Now(), busy.Holder)
		case "timeout":
			s.timedOut.Add(1)
		}
		if t != nil && t.Contended != nil {
			t.Contended(e)
		}
		return
	}
	s.failed.Add(1)
	if t != nil && t.Failed != nil {
		t.Failed(Failed{Context: ctx, Key: m.key, Name: m.opts.business, Kind: m.kind, Waited: waited, Err: err})
	}
}
