package interlock

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// An RWMutex is a lock with many readers at a time, or one writer. Waiters are
// served in order of arrival: no reader overtakes a waiting writer, and no
// writer overtakes waiting readers. It allows 1,000 readers at a time; one more
// fails with [ErrFull].
//
// A writer may also read under its context. A reader that asks for the write
// lock would wait for itself, and fails at once with [ErrUpgrade].
type RWMutex struct {
	read, write *Mutex
}

// RWMutex returns the read/write lock named key. On the same key a [Mutex] fails
// with [ErrKind].
func (c *Client) RWMutex(key string, opts ...Option) *RWMutex {
	return &RWMutex{read: c.lock(engine.Read, key, opts), write: c.lock(engine.Write, key, opts)}
}

// Key returns the key of the lock, prefix included.
func (m *RWMutex) Key() string { return m.read.key }

// Read returns the read lock.
func (m *RWMutex) Read() Locker { return m.read }

// Write returns the write lock. [Hold.Downgrade] turns it into a read lock.
func (m *RWMutex) Write() Locker { return m.write }

var errNotWriting = errors.New("interlock: Downgrade needs a hold of the write lock of an RWMutex")

// Downgrade turns a hold of [RWMutex.Write] into a hold of Read, so that no
// other writer gets in between, and wakes waiting readers. The returned context
// belongs to the new hold and derives from the one that Lock was called with. The
// context of h is cancelled as by Unlock, and h needs no Unlock. If Downgrade
// fails, h stays held, unless it was lost.
func (h *Hold) Downgrade() (context.Context, *Hold, error) {
	l := h.lease
	if l == nil || l.req.Kind != engine.Write {
		return context.Background(), nil, errNotWriting
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || !l.live() {
		h.end() // sets h.err
		return l, nil, errors.Join(errNotWriting, h.err)
	}
	reader := &Mutex{core: l.core, key: l.req.Key, opts: *l.opts, holder: l.req.Holder}
	reader.setKind(engine.Read)
	if err := reader.check(l.Parent()); err != nil {
		return l, nil, err
	}
	start := time.Now()
	ctx, read, err := reader.acquireNew(l.Parent(), true)
	if err != nil {
		reader.report(l.Parent(), err, time.Since(start))
		return l, nil, err
	}
	switch h.end(); {
	case errors.Is(h.err, ErrLost):
		_ = read.Unlock() // another writer may have held the lock before the read lock was granted
		return l.Parent(), nil, h.err
	case h.err != nil: // the release failed; without a retry, readers wait until the write lease expires
		l.core.cleanUp(l.req, l.opts, l.watch.Sent())
	}
	return ctx, read, nil
}
