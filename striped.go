package interlock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"
)

// A Striped is a hot key split into several locks: whoever needs any part of
// what it protects takes a stripe that is free, and whoever needs the whole takes
// all of them.
type Striped struct {
	stripes []*Mutex
	all     *Multi
}

const mostStripes = 1024

// Striped returns the key split into n stripes, locks of their own with keys
// such as "stock:42:0". All who use the key must agree on n.
func (c *Client) Striped(key string, n int, opts ...Option) *Striped {
	s := &Striped{}
	keys := make([]string, max(1, min(n, mostStripes)))
	for i := range keys {
		keys[i] = key + ":" + strconv.Itoa(i)
		s.stripes = append(s.stripes, c.Mutex(keys[i], opts...))
	}
	s.all = c.Multi(keys, opts...)
	if n < 1 || n > mostStripes {
		bad := fmt.Errorf("%w: Striped(%q, %d): must have from 1 to %d stripes", ErrOption, key, n, mostStripes)
		s.all.opts.err = bad
		for _, m := range s.stripes {
			m.opts.err = bad
		}
	}
	return s
}

// Len returns how many stripes there are.
func (s *Striped) Len() int { return len(s.stripes) }

// Stripe returns the lock of one stripe, counted from 0. It panics if there is
// none with that number.
func (s *Striped) Stripe(i int) *Mutex { return s.stripes[i] }

// For returns the lock of the stripe that id belongs to, always the same one.
func (s *Striped) For(id string) *Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return s.stripes[h.Sum32()%uint32(len(s.stripes))]
}

// All returns all the stripes as one lock.
func (s *Striped) All() *Multi { return s.all }

// Do calls fn while holding any one stripe, and says which. It takes one that is
// free, from a place in the row that differs each time; if none is, it waits for
// one of them, and looks round again every second. With [Reentrant] a stripe that
// ctx holds is entered again; without it, it takes another.
func (s *Striped) Do(ctx context.Context, fn func(ctx context.Context, stripe int) error) error {
	i, ctx, hold, err := s.any(ctx)
	if err != nil {
		return err
	}
	return hold.during(ctx, func(ctx context.Context) error { return fn(ctx, i) })
}

// any takes a stripe.
func (s *Striped) any(ctx context.Context) (int, context.Context, *Hold, error) {
	start := time.Now()
	for {
		i, inner, hold, err := s.look(ctx)
		if hold != nil || err != nil && i < 0 {
			return i, inner, hold, err
		}
		m, left := *s.stripes[i], longestPoll
		if m.opts.bounded {
			left = min(left, m.opts.wait-time.Since(start))
		}
		if left > 0 {
			m.opts.wait, m.opts.bounded = left, true
			inner, hold, err = m.quietly(ctx, false)
		}
		over := left < longestPoll || ctx.Err() != nil || !errors.Is(err, errWaited)
		if hold == nil && over {
			m.report(err, time.Since(start))
		}
		if over {
			return i, inner, hold, err
		}
	}
}

// look tries one stripe after the other. If none is free, it returns one to wait
// for, and who has it; if there is none to wait for either, a number below zero.
func (s *Striped) look(ctx context.Context) (stripe int, _ context.Context, _ *Hold, err error) {
	stripe = -1
	for _, i := range rand.Perm(len(s.stripes)) {
		m := s.stripes[i]
		if err := m.usable(ctx); err != nil {
			return -1, ctx, nil, err
		}
		m, hold, self := m.under(ctx)
		if hold != nil {
			return i, ctx, hold, nil
		}
		if self != nil { // ctx has it, and wants another
			if stripe < 0 {
				err = self
			}
			continue
		}
		inner, hold, busy := m.quietly(ctx, true)
		if busy == nil {
			return i, inner, hold, nil
		}
		if !errors.Is(busy, ErrContended) {
			m.report(busy, 0)
			return -1, ctx, nil, busy
		}
		stripe, err = i, busy
	}
	return stripe, ctx, nil, err
}
