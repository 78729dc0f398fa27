package interlock

import (
	"context"

	"github.com/interlock-go/interlock/engine"
)

// A Semaphore is a lock with several permits, one per holder. Waiters get them in
// order of arrival. A permit has a lease like any lock: it is renewed while it is
// held, and expires if its holder dies.
type Semaphore struct{ permit *Mutex }

// Semaphore returns the semaphore named key with n permits. The engine does not
// store n: each client applies its own, so a new version of a program may change
// it. Lowering n revokes no permit; new ones are granted when fewer than n are
// held.
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

// Acquire waits for a permit, as [Mutex.Lock] does for a lock. A holder that asks
// again gets another permit, unless the semaphore is [Reentrant].
func (s *Semaphore) Acquire(ctx context.Context) (context.Context, *Hold, error) {
	return s.permit.Lock(ctx)
}

// TryAcquire makes one attempt to get a permit. It does not overtake waiters.
func (s *Semaphore) TryAcquire(ctx context.Context) (context.Context, *Hold, error) {
	return s.permit.TryLock(ctx)
}
