// Package watchdog keeps leases alive, and ends those that can no longer be
// relied on. Locks and claims have one each, of the same make.
//
// A lease is trusted for a little less than the engine was asked for, counted
// from before it was asked, by the monotonic clock and by the wall clock.
package watchdog

import (
	"context"
	"time"
)

// A Ward is something with a lease. What it is told, it is told in no particular
// goroutine and without any lock of the watchdog's: it may call the watchdog.
//
// With Expired, Exceeded and Gone the watchdog lets go of it. One that is removed
// while a renewal is on its way may still be told what came of that.
type Ward interface {
	Watched() *Lease
	Expired()          // it is overdue
	Exceeded()         // MaxHold is over
	Gone(err error)    // the engine said engine.ErrNotHolder, of which engine.ErrRevoked is one
	Renewed(err error) // a renewal got through, or failed and will be tried again
}

// Config is what a Watchdog needs of its owner.
type Config struct {
	Clock *Clock

	// Renew asks the engine, with one call, to renew what belongs to the wards,
	// and returns an error or nil for each.
	Renew func(ctx context.Context, wards []Ward) []error

	// Shard tells which wards share a part of the engine that may fail by
	// itself. Nil means that all do.
	Shard func(key string) int

	// Spawn runs something in the background that somebody waits for.
	Spawn func(func())

	// Tick, unless it is nil, is called twice a second or more often while there
	// are wards, and wards returns them. Emptied, likewise, is called when the
	// last one has left, and perhaps again while there is none. Never two of
	// these calls at a time: the watchdog is locked meanwhile, so they must not
	// wait, nor call it.
	Tick    func(now time.Time, wards func() []Ward)
	Emptied func()
}
