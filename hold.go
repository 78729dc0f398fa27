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
	parts []*Hold // the holds of a Multi; lease is nil then

	mu    sync.Mutex
	ended bool
	err   error // the result of Unlock
}

// Key returns the key of the lock. The hold of a [Multi] returns its keys in
// order, separated by commas.
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

// Parts returns the holds of a [Multi] in the order of their keys. Any other
// hold returns itself. Unlock of the whole hold ends all parts.
func (h *Hold) Parts() []*Hold {
	if h.lease != nil {
		return []*Hold{h}
	}
	return slices.Clone(h.parts)
}

// Holder returns the holder id that the engine knows, in the form uuid:number.
// The hold of a [Multi] returns the id of its first part.
func (h *Hold) Holder() string {
	if h.lease == nil {
		return h.parts[0].Holder()
	}
	return h.lease.req.Holder
}

// Fence returns a number that grows with every change of holder. Pass it to the
// store that the lock protects. A store that refuses any fence lower than the highest it
// has seen is safe from a holder that was paused while its lock was lost.
//
// See [Fenced] for how strictly fences grow. The hold of a [Multi] returns the
// highest fence of its parts; use [Hold.Parts] for each.
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

// Left returns how long the lock is held for certain without a renewal. It is
// zero when the lock, or one lock of a [Multi], was lost or released.
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

// Local reports whether the lock, or one lock of a [Multi], is valid in this process
// only, because its engine has degraded to local locks. Other processes may hold
// it as well. See package standby.
func (h *Hold) Local() bool {
	if h.lease != nil {
		return h.lease.local
	}
	return slices.ContainsFunc(h.parts, (*Hold).Local)
}

// Unlock ends the hold. The last entry of a [Reentrant] lock releases it. Unlock
// works in any goroutine, whether or not the context was cancelled, and returns
// within 2 seconds. If the lock was lost before, the error matches [ErrLost].
// Later calls return the same result and do nothing.
func (h *Hold) Unlock() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end()
	return h.err
}

// end ends the hold once.
func (h *Hold) end() {
	switch {
	case h.ended:
	case h.lease != nil:
		h.ended, h.err = true, h.lease.unlock()
	default:
		h.ended, h.err = true, unlockAll(h.parts)
	}
}

// run calls fn and unlocks, even if fn panics.
func (h *Hold) run(ctx context.Context, fn func(context.Context) error) error {
	defer h.Unlock() //nolint:errcheck // for a panic in fn; a second Unlock does nothing
	err := fn(ctx)
	if lost := h.Unlock(); errors.Is(lost, ErrLost) {
		return errors.Join(err, lost)
	}
	return err
}

// Fence returns the fence of the lock that ctx carries; see [Hold.Fence]. If ctx carries
// several, it is that of the lock acquired last.
func Fence(ctx context.Context) (fence uint64, ok bool) {
	l, _ := ctx.Value(leaseKey{}).(*lease)
	if l == nil {
		return 0, false
	}
	return l.fence, true
}
