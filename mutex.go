package interlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A Locker is a lock of any kind.
type Locker interface {
	Do(ctx context.Context, fn func(context.Context) error) error
	Lock(ctx context.Context) (context.Context, *Hold, error)
	TryLock(ctx context.Context) (context.Context, *Hold, error)
}

// A Mutex is a lock that one at a time can hold. It may be shared.
type Mutex struct {
	core  *core
	key   string
	opts  options
	kind  engine.Kind
	limit int    // of a semaphore
	as    string // on behalf of which holder; empty for a new one

	// gathered says that the lock is one of several that are being taken. Until
	// all are there it is renewed, whatever its options say.
	gathered bool
}

var _ Locker = (*Mutex)(nil)

// Key returns the key of the lock, prefix included.
func (m *Mutex) Key() string { return m.key }

// Do calls fn while holding the lock. It returns nil only if fn returned nil
// and the lock was held throughout; if the lock was lost before fn returned,
// the error matches [ErrLost] as well as what fn returned.
//
// The lock is released whether fn returns, fails or panics. That a release
// failed is no error of Do: the lease runs out by itself, and the [Trace] is
// told.
func (m *Mutex) Do(ctx context.Context, fn func(context.Context) error) error {
	return do(ctx, m, fn)
}

func do(ctx context.Context, lock Locker, fn func(context.Context) error) error {
	ctx, hold, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	return hold.during(ctx, fn)
}

// Lock waits for the lock until ctx is done, or for as long as [Wait] allows.
//
// The context it returns carries the hold: it ends with a *[LostError] as its
// cause once the lock can no longer be relied on, and with [ErrReleased] when
// it is unlocked. Pass it on to the work. That ctx ends asks the holder to
// stop; only Unlock says that it has, and until then the lock is renewed.
//
// An engine that fails is asked again, for five seconds at most. On error Lock
// returns ctx itself.
func (m *Mutex) Lock(ctx context.Context) (context.Context, *Hold, error) {
	return m.lock(ctx, m.opts.bounded && m.opts.wait == 0)
}

// TryLock makes one attempt. If somebody else holds the lock, the error is a
// *[ContendedError] that says who, and when to come back. Only an engine that
// fails is asked again, for two seconds at most.
func (m *Mutex) TryLock(ctx context.Context) (context.Context, *Hold, error) {
	return m.lock(ctx, true)
}

func (m *Mutex) lock(ctx context.Context, once bool) (context.Context, *Hold, error) {
	if err := m.usable(ctx); err != nil {
		return ctx, nil, err
	}
	m, hold, err := m.under(ctx)
	if hold != nil || err != nil {
		return ctx, hold, err
	}
	return m.obtain(ctx, once)
}

// obtain takes the lock as somebody new, or on behalf of who it was made for.
func (m *Mutex) obtain(ctx context.Context, once bool) (context.Context, *Hold, error) {
	start := time.Now()
	inner, hold, err := m.quietly(ctx, once)
	if err != nil {
		m.report(err, time.Since(start))
	}
	return inner, hold, err
}

// quietly is obtain without a word about what was not to be had.
func (m *Mutex) quietly(ctx context.Context, once bool) (context.Context, *Hold, error) {
	start := time.Now()
	m.core.background.Begin()
	defer m.core.background.End()
	g, err := m.take(ctx, once)
	if err != nil {
		return ctx, nil, err
	}
	l := m.hold(ctx, g, start)
	if m.core.closed.Load() && l.lose(ErrClosed) { // while the engine was asked
		m.core.dropped(l)
		return ctx, nil, m.closed()
	}
	return l, &l.first, nil
}

// usable refuses what cannot end well before anything is sent.
func (m *Mutex) usable(ctx context.Context) error {
	if m.opts.err != nil {
		return m.opts.err
	}
	if m.core.closed.Load() {
		return m.closed()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interlock: not asking for %q: %w", m.key, context.Cause(ctx))
	}
	m.core.warn(m.key, m.opts.trace)
	return nil
}

func (m *Mutex) closed() error {
	return fmt.Errorf("%w: %q cannot be taken any more", ErrClosed, m.key)
}

// take gets the lock from the next in line in this process, or from the engine.
func (m *Mutex) take(ctx context.Context, once bool) (grant, error) {
	if m.opts.bounded && !once {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.opts.wait, errWaited)
		defer cancel()
	}
	if m.kind != engine.Exclusive || ownerOf(ctx) != "" {
		return m.takeDirectly(ctx, once)
	}
	return m.core.desk.take(ctx, m, once)
}

// takeDirectly asks the engine without standing in line here: the line of a fair
// lock is the engine's, readers do not wait for each other, and who is ahead of a
// named owner may well be the same owner.
func (m *Mutex) takeDirectly(ctx context.Context, once bool) (grant, error) {
	var e ear
	defer e.close()
	return m.stand(ctx, once, &e, nil)
}

// hold makes the lease of a grant, and the context that carries it.
func (m *Mutex) hold(ctx context.Context, g grant, asked time.Time) *lease {
	now := time.Now()
	l := newLease(ctx, m, g, now)
	m.core.desk.occupy(l)
	m.core.watchdog.Add(l, now)
	m.core.presence.show(now)

	s, waited := &m.core.stats, now.Sub(asked)
	s.live.Add(1)
	s.acquired.Add(1)
	s.waited.Add(int64(waited))
	if g.handed {
		s.handed.Add(1)
	}
	if t := m.opts.trace; t != nil && t.Acquired != nil {
		l.tell(t, waited)
	}
	return l
}

// tell traces that a lock was taken. Should the trace panic, nobody has the hold,
// so it is released.
func (l *lease) tell(t *Trace, waited time.Duration) {
	told := false
	defer func() {
		if !told {
			_ = l.first.Unlock()
		}
	}()
	t.Acquired(Acquired{Key: l.req.Key, Kind: l.req.Kind, Holder: l.req.Holder, Fence: l.fence, Lease: l.req.Lease,
		Waited: waited, Tries: l.tries, HandedOver: l.handed, Local: l.local})
	told = true
}

// report counts and traces a lock that was not taken.
func (m *Mutex) report(err error, waited time.Duration) {
	s, t := &m.core.stats, m.opts.trace
	var busy *ContendedError
	if errors.As(err, &busy) {
		s.contended.Add(1)
		if t != nil && t.Contended != nil {
			t.Contended(Contended{Key: m.key, Kind: m.kind, Holder: busy.Holder, Ahead: busy.Ahead, Left: busy.RetryAfter, Waited: waited, Err: busy.Err})
		}
		return
	}
	s.failed.Add(1)
	if t != nil && t.Failed != nil {
		t.Failed(Failed{Key: m.key, Waited: waited, Err: err})
	}
}
