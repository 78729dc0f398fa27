package interlock

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A Semaphore has permits that as many may hold at a time as it has. They go to
// those who wait in the order they came. A permit is a lease like any other: it
// is renewed while it is held, and comes back by itself if its holder dies.
type Semaphore struct{ permit *Mutex }

// Semaphore returns the semaphore named key with n permits. The number is kept
// nowhere: each client goes by its own, so it may change from one release of a
// program to the next. Who holds a permit keeps it; with fewer permits than are
// held, nobody gets one until enough have come back.
func (c *Client) Semaphore(key string, n int, opts ...Option) *Semaphore {
	m := c.lock(engine.Permit, key, opts)
	m.limit = n
	if n < 1 {
		m.opts.reject("Semaphore(%q, %d): must have at least one permit", key, n)
	}
	return &Semaphore{permit: m}
}

// Key returns the key of the semaphore, prefix included.
func (s *Semaphore) Key() string { return s.permit.key }

// Permit returns a permit as a lock, for [Call] and [Wrap].
func (s *Semaphore) Permit() Locker { return s.permit }

// Do calls fn while holding a permit, as [Mutex.Do] does with a lock.
func (s *Semaphore) Do(ctx context.Context, fn func(context.Context) error) error {
	return s.permit.Do(ctx, fn)
}

// Acquire waits for a permit, as [Mutex.Lock] does for a lock. Whoever holds one
// and asks again gets another, unless the semaphore is [Reentrant].
func (s *Semaphore) Acquire(ctx context.Context) (context.Context, *Hold, error) {
	return s.permit.Lock(ctx)
}

// TryAcquire makes one attempt to get a permit. It does not get past those who
// wait for one.
func (s *Semaphore) TryAcquire(ctx context.Context) (context.Context, *Hold, error) {
	return s.permit.TryLock(ctx)
}
