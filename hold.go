package interlock

import (
	"sync"
	"time"
)

// A Hold is one entry into a lock.
type Hold struct {
	lease *lease
	once  sync.Once
	err   error
}

// Key returns the key of the lock.
func (h *Hold) Key() string { return h.lease.req.Key }

// Holder returns what the engine calls the holder, in the shape uuid:number.
func (h *Hold) Holder() string { return h.lease.req.Holder }

// Fence returns a number that grows with every change of holder. Hand it to
// whatever the lock protects: a store that refuses a number lower than one it
// has seen cannot be harmed by a holder that was asleep while its lock was
// lost. See [Fenced] for how strictly it grows.
func (h *Hold) Fence() uint64 { return h.lease.fence }

// Left returns for how long the lock is certainly held unless it is renewed.
// It is zero once the lock was lost or released.
func (h *Hold) Left() time.Duration { return h.lease.left() }

// Unlock gives the lock up, or takes back one entry of several. It works
// whatever became of the context, from any goroutine, and takes two seconds at
// most. If the lock had been lost by then, the error matches [ErrLost].
// Calling it again is free and returns the same.
func (h *Hold) Unlock() error {
	h.once.Do(func() { h.err = h.lease.leave() })
	return h.err
}
