package interlock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Hold is one entry into a lock, or into several at once; see [Multi].
type Hold struct {
	lease *lease
	parts []*Hold // of a Multi, which has no lease of its own

	mu   sync.Mutex
	over bool  // it was unlocked
	err  error // what came of that
}

// Key returns the key of the lock. A hold of several has their keys in order,
// with commas between them.
func (h *Hold) Key() string {
	if h.lease != nil {
		return h.lease.req.Key
	}
	keys := make([]string, len(h.parts))
	for i, p := range h.parts {
		keys[i] = p.Key()
	}
	return strings.Join(keys, ",")
}

// Parts returns the holds that a hold of several locks consists of, in the order
// of their keys, and otherwise the hold itself. They end together, with Unlock of
// the whole.
func (h *Hold) Parts() []*Hold {
	if h.lease != nil {
		return []*Hold{h}
	}
	return slices.Clone(h.parts)
}

// Holder returns what the engine calls the holder, in the shape uuid:number. A
// hold of several locks has one for each, and returns the first.
func (h *Hold) Holder() string {
	if h.lease == nil {
		return h.parts[0].Holder()
	}
	return h.lease.req.Holder
}

// Fence returns a number that grows with every change of holder. Hand it to
// whatever the lock protects: a store that refuses a number lower than one it
// has seen cannot be harmed by a holder that was asleep while its lock was
// lost. See [Fenced] for how strictly it grows. Each of several locks has a fence
// of its own, as [Hold.Parts] tells; of all together it is the highest.
func (h *Hold) Fence() uint64 {
	if h.lease != nil {
		return h.lease.fence
	}
	var highest uint64
	for _, p := range h.parts {
		highest = max(highest, p.Fence())
	}
	return highest
}

// Left returns for how long the lock is certainly held unless it is renewed.
// It is zero once the lock, or one of several, was lost or released.
func (h *Hold) Left() time.Duration {
	if h.lease != nil {
		return h.lease.left()
	}
	least := h.parts[0].Left()
	for _, p := range h.parts[1:] {
		least = min(least, p.Left())
	}
	return least
}

// Local tells whether the lock, or one of several, is this process's alone, since
// its engine has degraded to that: then other processes may hold it as well. See
// package standby.
func (h *Hold) Local() bool {
	if h.lease != nil {
		return h.lease.local
	}
	return slices.ContainsFunc(h.parts, (*Hold).Local)
}

// Unlock gives the lock up, or takes back one entry of several. It works
// whatever became of the context, from any goroutine, and takes two seconds at
// most. If the lock had been lost by then, the error matches [ErrLost].
// Calling it again is free and returns the same.
func (h *Hold) Unlock() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end()
	return h.err
}

// end ends the hold, unless it is over.
func (h *Hold) end() {
	switch {
	case h.over:
	case h.lease != nil:
		h.over, h.err = true, h.lease.leave()
	default:
		h.over, h.err = true, unlockAll(h.parts)
	}
}

// during calls fn while holding the lock, and releases it whatever fn does.
func (h *Hold) during(ctx context.Context, fn func(context.Context) error) error {
	defer h.Unlock() //nolint:errcheck // should fn panic; a second Unlock is free
	err := fn(ctx)
	if lost := h.Unlock(); errors.Is(lost, ErrLost) {
		return errors.Join(err, lost)
	}
	return err
}
