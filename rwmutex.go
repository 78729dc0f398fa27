package interlock

import (
	"context"
	"errors"

	"github.com/interlock-go/interlock/engine"
)

// An RWMutex is a lock that many readers can hold at a time, or one writer. Who
// waits is served in the order it came: no reader gets in past a writer that
// waits, and no writer past readers that do. There is room for 1,000 readers at
// a time; one more fails with [ErrFull].
//
// A writer may also read under its context. A reader that asks to write would
// wait for itself, and fails at once with [ErrUpgrade].
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

// Read returns the side of the lock that many may hold.
func (m *RWMutex) Read() Locker { return m.read }

// Write returns the side of the lock that one may hold. See [Hold.Downgrade] for
// how to go on reading after that.
func (m *RWMutex) Write() Locker { return m.write }

var errNotWriting = errors.New("interlock: only who holds the write side of an RWMutex can go on reading")

// Downgrade turns a hold of [RWMutex.Write] into one of Read, without letting
// another writer in between, and wakes those who wait to read. The context it
// returns belongs to the new hold and follows the one that Lock was called with;
// that of h ends as with Unlock, and Unlock of h does nothing more. If it fails, h
// is as it was, unless it was lost.
func (h *Hold) Downgrade() (context.Context, *Hold, error) {
	l := h.lease
	if l == nil || l.req.Kind != engine.Write {
		return context.Background(), nil, errNotWriting
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || !l.live() {
		h.end() // says what became of it
		return l, nil, errors.Join(errNotWriting, h.err)
	}
	reader := &Mutex{core: l.core, key: l.req.Key, opts: *l.opts, kind: engine.Read, as: l.req.Holder}
	if err := reader.usable(l.parent); err != nil {
		return l, nil, err
	}
	ctx, read, err := reader.obtain(l.parent, true)
	if err != nil {
		return l, nil, err
	}
	switch h.end(); {
	case errors.Is(h.err, ErrLost):
		_ = read.Unlock() // it may have been granted to us as to anybody
		return l.parent, nil, h.err
	case h.err != nil: // others would wait for the rest of its lease
		l.core.cleanUp(l.req, l.opts.trace, l.watch.Sent())
	}
	return ctx, read, nil
}
