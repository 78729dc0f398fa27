package interlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/retry"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A Multi acquires several locks, all or none. It acquires them in the order of
// their keys, so two callers with some keys in common cannot deadlock.
type Multi struct {
	locks []*Mutex
	opts  options
}

var _ Locker = (*Multi)(nil)

// Multi returns the locks named by keys as one. Repeated keys count once.
func (c *Client) Multi(keys []string, opts ...Option) *Multi {
	m := &Multi{opts: c.opts.with(opts)}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		lock := c.Mutex(key, opts...)
		m.locks = append(m.locks, lock)
		if m.opts.err == nil {
			m.opts.err = lock.opts.err
		}
	}
	if len(keys) == 0 && m.opts.err == nil {
		m.opts.err = fmt.Errorf("%w: Multi needs at least one key", ErrKey)
	}
	return m
}

// Do calls fn while holding all the locks; see [Mutex.Do].
func (m *Multi) Do(ctx context.Context, fn func(context.Context) error) error {
	return do(ctx, m, fn)
}

// Lock waits for all the locks; see [Mutex.Lock]. [Wait] bounds the whole wait.
// If one lock cannot be acquired, the others are released.
//
// Losing one lock cancels the returned context. Unlock of the hold releases all
// the locks.
func (m *Multi) Lock(ctx context.Context) (context.Context, *Hold, error) {
	return m.acquire(ctx, m.opts.bounded && m.opts.wait == 0)
}

// TryLock makes one attempt to acquire all the locks.
func (m *Multi) TryLock(ctx context.Context) (context.Context, *Hold, error) {
	return m.acquire(ctx, true)
}

func (m *Multi) acquire(ctx context.Context, once bool) (context.Context, *Hold, error) {
	if m.opts.err != nil {
		return ctx, nil, m.opts.err
	}
	a := multiAcquire{multi: m, ctx: ctx, inner: ctx, once: once, start: time.Now()}
	a.core = m.locks[0].core
	a.core.tasks.Begin() // until the watchdog has all leases, so that Close always finds a task or a lease to wait for
	defer a.core.tasks.End()
	defer a.rollback() // also if a Backoff of the caller panics
	if err := a.run(); err != nil {
		return ctx, nil, err
	}
	holds := a.holds
	a.holds = nil
	return a.inner, &Hold{parts: holds}, nil
}

// unlockAll releases holds in parallel.
func unlockAll(holds []*Hold) error {
	errs := make([]error, len(holds))
	var calls sync.WaitGroup
	for i, h := range slices.Backward(holds) {
		calls.Go(func() { errs[i] = h.Unlock() })
	}
	calls.Wait()
	return errors.Join(errs...)
}

// A multiAcquire is one acquisition of all the locks of a Multi.
type multiAcquire struct {
	multi *Multi
	core  *core
	ctx   context.Context // the caller's
	inner context.Context // the context of the last hold; the next lock is acquired under it
	once  bool
	start time.Time

	holds   []*Hold  // of the first locks, in order
	granted []*grant // grants that are not yet holds, indexed like multi.locks; may contain nil
}

func (a *multiAcquire) run() error {
	for _, lock := range a.multi.locks { // in the caller's goroutine, because check may call the Trace
		if err := lock.check(a.ctx); err != nil {
			return err
		}
	}
	if err := a.tryAll(); err != nil {
		return err
	}
	for len(a.holds) < len(a.multi.locks) {
		if err := a.wait(); err != nil {
			return err
		}
	}
	if a.core.closed.Load() { // closed while the engine was asked
		return a.multi.locks[0].closed()
	}
	return a.finish()
}

// tryAll tries all the locks in parallel, so that free locks cost one round trip
// together. It keeps the grants before the first refusal and gives back the rest:
// waiting while holding a later lock could deadlock.
func (a *multiAcquire) tryAll() error {
	locks := a.multi.locks
	if len(locks) < 2 || a.ctx.Value(leaseKey{}) != nil {
		return nil // one by one: ctx may hold some of them
	}
	ctx := a.ctx
	if left, bounded := a.left(); bounded && left > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, left, errWaited)
		defer cancel()
	}
	a.granted = make([]*grant, len(locks))
	errs := make([]error, len(locks))
	var calls sync.WaitGroup
	for i, lock := range locks {
		calls.Go(func() {
			g, err := a.core.local.acquire(ctx, lock, true)
			if errs[i] = err; err == nil {
				a.core.local.announce(&g)
				a.granted[i] = &g
			}
		})
	}
	calls.Wait()
	for i, lock := range locks {
		if errs[i] != nil {
			a.giveBack()
			if !a.once && errors.Is(errs[i], ErrContended) && ctx.Err() == nil {
				return nil // wait for it
			}
			lock.report(ctx, errs[i], time.Since(a.start))
			return errs[i]
		}
		a.keep(lock, a.granted[i], i)
	}
	return nil
}

// keep makes a hold of the grant of the i-th lock.
func (a *multiAcquire) keep(lock *Mutex, g *grant, i int) {
	a.granted[i] = nil
	part := *lock
	part.partOfMulti = true
	l := part.newHold(a.inner, *g, a.start)
	a.inner, a.holds = l, append(a.holds, &l.first)
}

// wait acquires the next lock under the context of the last hold.
func (a *multiAcquire) wait() error {
	next := *a.multi.locks[len(a.holds)]
	next.partOfMulti = true
	once := a.once
	if left, bounded := a.left(); bounded {
		next.opts.wait = left
		once = once || left == 0
	}
	inner, hold, err := next.acquire(a.inner, once)
	if err != nil {
		return err
	}
	a.inner, a.holds = inner, append(a.holds, hold)
	return nil
}

// left returns how much of the wait is left, if it is bounded.
func (a *multiAcquire) left() (time.Duration, bool) {
	o := &a.multi.opts
	return max(0, o.wait-time.Since(a.start)), o.bounded
}

// finish applies the lease options from now on, so that all locks expire
// together. Until now the watchdog has renewed every lock.
func (a *multiAcquire) finish() error {
	leases := make([]watchdog.Leased, 0, len(a.holds))
	for _, h := range a.holds {
		if h == &h.lease.first { // a lock that was entered again keeps its terms
			leases = append(leases, h.lease)
		}
	}
	terms := a.multi.opts.watchdogTerms()
	if terms.Explicit {
		if err := a.core.renewTogether(leases); err != nil {
			return fmt.Errorf("interlock: acquire %q with others: %w", a.multi.locks[0].key, err)
		}
	}
	a.core.watchdog.SetTerms(leases, terms)
	return nil
}

// renewTogether renews the leases that are not fresh, so that explicit leases of
// one Multi expire together.
func (c *core) renewTogether(leases []watchdog.Leased) error {
	ctx := c.detached.Context(time.Now())
	for tries := 1; ; tries++ {
		old := c.watchdog.Older(leases, retry.MinLeaseShare)
		if len(old) == 0 {
			return nil
		}
		c.watchdog.Renew(old)
		for _, x := range old {
			if l := x.(*lease); !l.live() {
				_ = l.Err() // cancels it if no other goroutine has
				<-l.Done()
				return context.Cause(l)
			}
		}
		if len(c.watchdog.Older(old, retry.MinLeaseShare)) > 0 && retry.Pause(ctx, tries) != nil {
			return retry.ErrSlow
		}
	}
}

// giveBack returns the grants that did not become holds.
func (a *multiAcquire) giveBack() {
	var calls sync.WaitGroup
	errs := make([]error, len(a.granted))
	for i, g := range a.granted {
		if g != nil {
			calls.Go(func() { errs[i] = a.core.local.giveBack(a.multi.locks[i], g) })
		}
	}
	calls.Wait()
	for i, err := range errs {
		g := a.granted[i]
		a.granted[i] = nil
		if err != nil {
			a.multi.locks[i].opts.unreleased(a.ctx, &g.req, time.Since(a.start), err)
		}
	}
}

// rollback releases the locks acquired so far. After a success acquire has emptied
// a.holds, and rollback does nothing.
func (a *multiAcquire) rollback() {
	a.giveBack()
	_ = unlockAll(a.holds)
}
