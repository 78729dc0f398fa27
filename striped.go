package interlock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/retry"
)

// A Striped splits a hot key into several locks, its stripes. A caller that needs
// any part of the protected object acquires a free stripe; a caller that needs
// the whole acquires all of them.
type Striped struct {
	stripes []*Mutex
	all     *Multi
}

const maxStripes = 1024

// Striped returns the key split into n stripes, which are locks with keys such as
// "stock:42:0". All users of the key must agree on n.
func (c *Client) Striped(key string, n int, opts ...Option) *Striped {
	s := &Striped{}
	keys := make([]string, max(1, min(n, maxStripes)))
	for i := range keys {
		keys[i] = key + ":" + strconv.Itoa(i)
		s.stripes = append(s.stripes, c.Mutex(keys[i], opts...))
	}
	s.all = c.Multi(keys, opts...)
	if n < 1 || n > maxStripes {
		bad := fmt.Errorf("%w: Striped(%q, %d): n must be from 1 to %d", ErrOption, key, n, maxStripes)
		s.all.opts.err = bad
		for _, m := range s.stripes {
			m.opts.err = bad
		}
	}
	return s
}

// Len returns how many stripes there are.
func (s *Striped) Len() int { return len(s.stripes) }

// Stripe returns the lock of stripe i, counted from 0. It panics if i is out of
// range.
func (s *Striped) Stripe(i int) *Mutex { return s.stripes[i] }

// For returns the stripe that id hashes to.
func (s *Striped) For(id string) *Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return s.stripes[h.Sum32()%uint32(len(s.stripes))]
}

// All returns all the stripes as one lock.
func (s *Striped) All() *Multi { return s.all }

// Do calls fn while holding one stripe, and passes fn the number of that stripe. It
// tries the stripes one by one in random order, so each busy stripe costs a round
// trip: use about twice as many stripes as callers. If none is free, it waits for
// one of them, and tries all again every second. If ctx already holds a stripe, Do
// re-enters it with [Reentrant]; without Reentrant it acquires a different stripe.
func (s *Striped) Do(ctx context.Context, fn func(ctx context.Context, stripe int) error) error {
	i, ctx, hold, err := s.any(ctx)
	if err != nil {
		return err
	}
	return hold.run(ctx, func(ctx context.Context) error { return fn(ctx, i) })
}

// any acquires a stripe.
func (s *Striped) any(ctx context.Context) (int, context.Context, *Hold, error) {
	start := time.Now()
	for {
		i, inner, hold, err := s.tryEach(ctx)
		if hold != nil || err != nil && i < 0 {
			return i, inner, hold, err
		}
		m, wait := *s.stripes[i], retry.MaxPoll
		if m.opts.bounded {
			wait = min(wait, m.opts.wait-time.Since(start))
		}
		if wait > 0 {
			m.opts.wait, m.opts.bounded = wait, true
			inner, hold, err = m.acquireNew(ctx, false)
		}
		done := wait < retry.MaxPoll || ctx.Err() != nil || !errors.Is(err, errWaited)
		if hold == nil && done {
			m.report(ctx, err, time.Since(start))
		}
		if done {
			return i, inner, hold, err
		}
	}
}

// tryEach tries the stripes one by one. If none is free, it returns the number of a
// contended stripe and its ContendedError. The number is -1 if waiting cannot help: ctx
// holds all stripes, or an attempt failed.
func (s *Striped) tryEach(ctx context.Context) (stripe int, _ context.Context, _ *Hold, err error) {
	stripe = -1
	for _, i := range rand.Perm(len(s.stripes)) {
		m := s.stripes[i]
		if err := m.check(ctx); err != nil {
			return -1, ctx, nil, err
		}
		m, hold, reenterErr := m.reenter(ctx)
		if hold != nil {
			return i, ctx, hold, nil
		}
		if reenterErr != nil { // ctx holds this stripe; another one may be free
			if stripe < 0 {
				err = reenterErr
			}
			continue
		}
		inner, hold, acquireErr := m.acquireNew(ctx, true)
		if acquireErr == nil {
			return i, inner, hold, nil
		}
		if !errors.Is(acquireErr, ErrContended) {
			m.report(ctx, acquireErr, 0)
			return -1, ctx, nil, acquireErr
		}
		stripe, err = i, acquireErr
	}
	return stripe, ctx, nil, err
}
