package interlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// A gathering is several locks on the way to being held all at once.
type gathering struct {
	multi *Multi
	core  *core
	ctx   context.Context // the caller's
	inner context.Context // that of the last hold: each is taken under the one before
	once  bool
	start time.Time

	holds   []*Hold  // of the first locks, in order
	granted []*grant // what was granted and is no hold yet, by lock; nil where nothing was
}

// run takes all the locks, or says why not.
func (g *gathering) run() error {
	for _, one := range g.multi.locks { // traces are told here, and not where the engine is asked
		if err := one.usable(g.ctx); err != nil {
			return err
		}
	}
	if err := g.sweep(); err != nil {
		return err
	}
	for len(g.holds) < len(g.multi.locks) {
		if err := g.wait(); err != nil {
			return err
		}
	}
	if g.core.closed.Load() { // while the engine was asked
		return g.multi.locks[0].closed()
	}
	return g.settle()
}

// sweep tries all the locks at once, so that those which are free cost one trip
// together. It keeps the first ones it got, up to one that it did not: to wait
// while holding one that comes later could be to wait for somebody who waits for
// us.
func (g *gathering) sweep() error {
	locks := g.multi.locks
	if len(locks) < 2 || g.ctx.Value(leaseKey{}) != nil {
		return nil // one by one: ctx may hold some of them
	}
	ctx := g.ctx
	if left, bounded := g.left(); bounded && left > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, left, errWaited)
		defer cancel()
	}
	g.granted = make([]*grant, len(locks))
	errs := make([]error, len(locks))
	var calls sync.WaitGroup
	for i, one := range locks {
		calls.Go(func() { g.granted[i], errs[i] = one.tryOnce(ctx) })
	}
	calls.Wait()
	for i, one := range locks {
		if errs[i] != nil {
			g.giveBack()
			if !g.once && errors.Is(errs[i], ErrContended) && ctx.Err() == nil {
				return nil // it is to be waited for
			}
			one.report(errs[i], time.Since(g.start))
			return errs[i]
		}
		g.keep(one, g.granted[i], i)
	}
	return nil
}

// keep makes a hold of what was granted for the i-th lock.
func (g *gathering) keep(one *Mutex, what *grant, i int) {
	g.granted[i] = nil // a trace that panics has it released
	part := *one
	part.gathered = true
	l := part.hold(g.inner, *what, g.start)
	g.inner, g.holds = l, append(g.holds, &l.first)
}

// wait takes the next lock, under the holds of those before.
func (g *gathering) wait() error {
	next := *g.multi.locks[len(g.holds)]
	next.gathered = true
	once := g.once
	if left, bounded := g.left(); bounded {
		next.opts.wait = left
		once = once || left == 0
	}
	inner, hold, err := next.lock(g.inner, once)
	if err != nil {
		return err
	}
	g.inner, g.holds = inner, append(g.holds, hold)
	return nil
}

// left returns how much of the wait is left, if it is bounded.
func (g *gathering) left() (time.Duration, bool) {
	o := &g.multi.opts
	return max(0, o.wait-time.Since(g.start)), o.bounded
}

// settle lets the options of the locks count from now on: all are there, and are
// to end together.
func (g *gathering) settle() error {
	wards := make([]watchdog.Ward, 0, len(g.holds))
	for _, h := range g.holds {
		if h == &h.lease.first { // one that was entered again keeps its terms
			wards = append(wards, h.lease)
		}
	}
	terms := g.multi.opts.watched()
	if terms.Explicit {
		if err := g.core.renewTogether(wards); err != nil {
			return fmt.Errorf("interlock: %q could not be taken together with others: %w", g.multi.locks[0].key, err)
		}
	}
	g.core.watchdog.Settle(wards, terms)
	return nil
}

// renewTogether makes leases that nobody renews after that begin anew together,
// except those that are new.
func (c *core) renewTogether(wards []watchdog.Ward) error {
	ctx := c.bound.Context(time.Now())
	for tries := 1; ; tries++ {
		old := c.watchdog.Older(wards, leastLeft)
		if len(old) == 0 {
			return nil
		}
		c.watchdog.Renew(old)
		for _, x := range old {
			if l := x.(*lease); !l.live() {
				_ = l.Err() // which ends it if nobody else has
				<-l.Done()
				return context.Cause(l)
			}
		}
		if len(c.watchdog.Older(old, leastLeft)) > 0 && c.pause(ctx, tries) != nil {
			return fmt.Errorf("%w: %w", engine.ErrUnavailable, errSlow)
		}
	}
}

// giveBack returns what was granted and is not to be held.
func (g *gathering) giveBack() {
	var calls sync.WaitGroup
	errs := make([]error, len(g.granted))
	for i, what := range g.granted {
		if what != nil {
			calls.Go(func() { errs[i] = g.core.desk.giveBack(g.multi.locks[i], what) })
		}
	}
	calls.Wait()
	for i, err := range errs {
		what := g.granted[i]
		g.granted[i] = nil
		if err != nil {
			g.core.unreleased(&what.req, g.multi.opts.trace, time.Since(g.start), err)
		}
	}
}

// disperse ends what was taken if not all was.
func (g *gathering) disperse() {
	g.giveBack()
	_ = unlockAll(g.holds)
}

// tryOnce makes one attempt without a word to traces and counters.
func (m *Mutex) tryOnce(ctx context.Context) (*grant, error) {
	g, err := m.take(ctx, true)
	if err != nil {
		return nil, err
	}
	m.core.desk.announce(&g)
	return &g, nil
}
