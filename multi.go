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
	g := gathering{multi: m, ctx: ctx, inner: ctx, once: once, start: time.Now()}
	g.core = m.locks[0].core
	g.core.background.Begin() // until all is in the watchdog's charge: Close waits for either
	defer g.core.background.End()
	defer g.disperse() // also if what the caller gave us panics: a Backoff, a Trace
	if err := g.run(); err != nil {
		return ctx, nil, err
	}
	holds := g.holds
	g.holds = nil
	return g.inner, &Hold{parts: holds}, nil
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
