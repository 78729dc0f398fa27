// Package watchdog renews leases, and ends those that are no longer safe. Locks
// and claims use it.
//
// A lease is safe for a little less than the time requested from the engine, counted
// from just before the request was sent. It must be safe by the monotonic clock and by
// the wall clock.
package watchdog

import (
	"context"
	"time"
)

// A Leased is an object with a lease: a hold or a claim. The watchdog calls its
// methods in any goroutine. It does not hold its mutex then, so they may call the
// watchdog.
//
// Expired and Exceeded are called after the watchdog has removed the lease. Renewed may
// still be called after a Remove, for a renewal that was in progress.
type Leased interface {
	Watched() *Lease
	Expired()          // the lease is overdue
	Exceeded()         // MaxHold has passed
	Gone(err error)    // the engine returned engine.ErrNotHolder; engine.ErrRevoked matches it
	Renewed(err error) // a renewal succeeded, or failed and will be retried
}

// Config connects a Watchdog to its owner.
type Config struct {
	Clock *Clock

	// Renew renews a batch of leases with one engine call, and returns an error
	// or nil for each.
	Renew func(ctx context.Context, batch []Leased) []error

	// Shard returns the part of the engine that keeps a key. Parts fail
	// independently, so batches do not mix them. Nil means one part.
	Shard func(key string) int

	// Spawn runs a function in the background. The owner waits for it in Close.
	Spawn func(func())

	// Tick is called at least twice a second while there are leases; all returns
	// them. Emptied is called after the last lease was removed, and may be called
	// again while there is no lease. Both may be nil. The watchdog holds its mutex
	// during these calls, so they must neither block nor call the watchdog.
	Tick    func(now time.Time, all func() []Leased)
	Emptied func()
}
