package interlock

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
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
// one of them.
func (s *Striped) Do(ctx context.Context, fn func(ctx context.Context, stripe int) error) error {
	first := rand.IntN(len(s.stripes))
	i, ctx, hold, err := s.any(ctx, first)
	if err != nil {
		return err
	}
	return hold.during(ctx, func(ctx context.Context) error { return fn(ctx, i) })
}

// any takes a stripe, from the first on.
func (s *Striped) any(ctx context.Context, first int) (int, context.Context, *Hold, error) {
	for k := range s.stripes {
		i := (first + k) % len(s.stripes)
		inner, hold, err := s.stripes[i].TryLock(ctx)
		if err == nil || !errors.Is(err, ErrContended) {
			return i, inner, hold, err
		}
	}
	inner, hold, err := s.stripes[first].Lock(ctx)
	return first, inner, hold, err
}
