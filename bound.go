package interlock

import (
	"context"
	"sync/atomic"
	"time"
)

// A bound hands out contexts for calls that must not depend on their caller's.
// Those asked for at about the same time share one: to make one for every
// release would cost more than the rest of it.
type bound struct{ last atomic.Pointer[sharedContext] }

type sharedContext struct {
	context.Context
	_     context.CancelFunc // never called: others may use it, and it ends by itself
	fresh time.Time          // until when it is handed out
}

const (
	// detached bounds every call that is made on nobody's context.
	detached = 2 * time.Second

	// boundSlack is how much earlier such a context may end, for being shared.
	boundSlack = detached / 20
)

// context returns a context that ends after 1.9 to 2 s.
func (b *bound) context() context.Context {
	now := time.Now()
	if c := b.last.Load(); c != nil && now.Before(c.fresh) {
		return c
	}
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(detached))
	c := &sharedContext{ctx, cancel, now.Add(boundSlack)}
	b.last.Store(c)
	return c
}
