// Package detach bounds calls that are made on nobody's context.
package detach

import (
	"context"
	"sync/atomic"
	"time"
)

// Detached bounds every call that is made on nobody's context.
const Detached = 2 * time.Second

// slack is how much earlier such a context may end, for being shared.
const slack = Detached / 20

// A Bound hands out contexts for calls that must not depend on their caller's.
// Those asked for at about the same time share one: to make one for every
// release would cost more than the rest of it.
type Bound struct{ last atomic.Pointer[shared] }

type shared struct {
	context.Context
	_     context.CancelFunc // never called: others may use it, and it ends by itself
	fresh time.Time          // until when it is handed out
}

// Context returns a context that ends 1.9 to 2 s after now.
func (b *Bound) Context(now time.Time) context.Context {
	if c := b.last.Load(); c != nil && now.Before(c.fresh) {
		return c
	}
	ctx, cancel := context.WithDeadline(context.Background(), now.Add(Detached))
	c := &shared{ctx, cancel, now.Add(slack)}
	b.last.Store(c)
	return c
}
