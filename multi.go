package interlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Multi is several locks that are taken all or none. They are taken in the
// order of their keys, whatever order they were given in, so that two that share
// some of them cannot wait for each other.
type Multi struct {
	locks []*Mutex
	opts  options
}

var _ Locker = (*Multi)(nil)

// Multi returns the locks named by keys as one. A key given twice is taken once.
func (c *Client) Multi(keys []string, opts ...Option) *Multi {
	m := &Multi{opts: c.opts.with(opts)}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		one := c.Mutex(key, opts...)
		m.locks = append(m.locks, one)
		if m.opts.err == nil {
			m.opts.err = one.opts.err
		}
	}
	if len(keys) == 0 && m.opts.err == nil {
		m.opts.err = fmt.Errorf("%w: Multi without keys would lock nothing", ErrKey)
	}
	return m
}

// Do calls fn while holding all the locks, as [Mutex.Do] does with one.
func (m *Multi) Do(ctx context.Context, fn func(context.Context) error) error {
	return do(ctx, m, fn)
}

// Lock waits for all the locks, as [Mutex.Lock] does for one; [Wait] bounds the
// wait for all together. What has been taken when one of them is not to be had
// is released.
//
// The context it returns ends as soon as one of the locks is lost. The hold is
// that of all: Unlock releases every one.
func (m *Multi) Lock(ctx context.Context) (context.Context, *Hold, error) {
	return m.lock(ctx, m.opts.bounded && m.opts.wait == 0)
}

// TryLock makes one attempt to take all the locks.
func (m *Multi) TryLock(ctx context.Context) (context.Context, *Hold, error) {
	return m.lock(ctx, true)
}

func (m *Multi) lock(ctx context.Context, once bool) (context.Context, *Hold, error) {
	if m.opts.err != nil {
		return ctx, nil, m.opts.err
	}
	start := time.Now()
	inner, holds, err := m.sweep(ctx, once)
	for err == nil && len(holds) < len(m.locks) {
		next := *m.locks[len(holds)]
		var hold *Hold
		if next.opts.bounded {
			next.opts.wait = max(0, m.opts.wait-time.Since(start))
		}
		if inner, hold, err = next.lock(inner, once); err == nil {
			holds = append(holds, hold)
		}
	}
	if err == nil {
		err = m.refresh(holds, start)
	}
	if err != nil {
		_ = unlockAll(holds)
		return ctx, nil, err
	}
	return inner, &Hold{parts: holds}, nil
}

// sweep tries all the locks at once, so that those which are free cost one trip
// together. It keeps the first ones it got, up to one that it did not: to wait
// while holding one that comes later could be to wait for somebody who waits for
// us.
func (m *Multi) sweep(ctx context.Context, once bool) (context.Context, []*Hold, error) {
	if len(m.locks) < 2 || ctx.Value(leaseKey{}) != nil {
		return ctx, nil, nil // one by one: ctx may hold some of them
	}
	core := m.locks[0].core
	core.background.begin() // until the leases are in the renewer's charge: Close waits for either
	defer core.background.end()
	start := time.Now()
	grants, errs := make([]grant, len(m.locks)), make([]error, len(m.locks))
	var calls sync.WaitGroup
	for i, one := range m.locks {
		calls.Go(func() { grants[i], errs[i] = one.tryOnce(ctx) })
	}
	calls.Wait()

	inner, holds := ctx, []*Hold(nil)
	var failed error
	for i, one := range m.locks {
		switch {
		case errs[i] != nil && failed == nil:
			failed = errs[i]
			if !once && errors.Is(failed, ErrContended) && ctx.Err() == nil {
				failed = errLater
			} else {
				one.report(failed, time.Since(start))
			}
		case errs[i] != nil:
		case failed == nil:
			l := one.hold(inner, grants[i], start)
			inner, holds = l, append(holds, &l.first) //nolint:fatcontext // each under the one before, so that the loss of any ends all
		default:
			calls.Go(func() { one.giveUp(ctx, grants[i], start) })
		}
	}
	calls.Wait()
	if failed == errLater { //nolint:errorlint // identity: set above
		failed = nil
	}
	if failed == nil && core.closed.Load() { // while the engine was asked
		failed = m.locks[0].closed()
	}
	return inner, holds, failed
}

// errLater marks that a lock is to be waited for.
var errLater = errors.New("later")

// tryOnce makes one attempt without a word to traces and counters.
func (m *Mutex) tryOnce(ctx context.Context) (grant, error) {
	if err := m.usable(ctx); err != nil {
		return grant{}, err
	}
	g, err := m.take(ctx, true)
	if err == nil {
		m.core.desk.announce(&g)
	}
	return g, err
}

// giveUp releases a lock that was granted and is not wanted after all.
func (m *Mutex) giveUp(ctx context.Context, g grant, start time.Time) {
	l := m.hold(ctx, g, start)
	_ = l.first.Unlock()
}

// refresh lets explicit leases begin anew if the locks were not taken at about
// the same time: they are to end together.
func (m *Multi) refresh(holds []*Hold, start time.Time) error {
	if !m.opts.explicit || time.Since(start) < m.opts.lease/leastLeft {
		return nil
	}
	leases := make([]*lease, len(holds))
	for i, h := range holds {
		leases[i] = h.lease
	}
	m.locks[0].core.renewer.renew(leases, detached)
	for _, l := range leases {
		if !l.live() {
			return l.Err()
		}
	}
	return nil
}

// unlockAll releases holds, the last one first, and all at once.
func unlockAll(holds []*Hold) error {
	errs := make([]error, len(holds))
	var calls sync.WaitGroup
	for i, h := range slices.Backward(holds) {
		calls.Go(func() { errs[i] = h.Unlock() })
	}
	calls.Wait()
	return errors.Join(errs...)
}
