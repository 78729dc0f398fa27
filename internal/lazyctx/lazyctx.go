// Package lazyctx provides a cancellable context that costs nothing until Done is
// called.
//
// Every hold and claim has such a context. Most work ends before any code calls
// Done, and propagating the parent's cancellation would cost more than the rest
// of the hold.
package lazyctx

import (
	"context"
	"sync/atomic"
	"time"
)

// A Context is cancelled with its parent, or by End. It is embedded in its owner
// and made ready by Init.
type Context struct {
	parent context.Context
	cause  error // set before state is ended
	state  atomic.Pointer[cancellable]
}

// A cancellable is the standard context behind a Context after Done was called.
type cancellable struct {
	context.Context
	cancel context.CancelCauseFunc
}

// ended marks a Context that was cancelled before Done was called.
var ended = new(cancellable)

// Init derives the context from parent.
func (c *Context) Init(parent context.Context) { c.parent = parent }

// Parent returns the context that Init was called with.
func (c *Context) Parent() context.Context { return c.parent }

// Begun reports whether Init was called.
func (c *Context) Begun() bool { return c.parent != nil }

// End cancels the context. It must be called at most once.
func (c *Context) End(cause error) {
	if c.state.Load() == nil && c.parent.Err() == nil {
		c.cause = cause
		if c.state.CompareAndSwap(nil, ended) {
			return
		}
	}
	c.start().cancel(cause)
}

// start makes the standard context, for the first caller of Done.
func (c *Context) start() *cancellable {
	for {
		l := c.state.Load()
		if l != nil && l != ended {
			return l
		}
		next := c.derive(l == ended)
		if c.state.CompareAndSwap(l, next) {
			return next
		}
		next.cancel(nil) // another goroutine was faster
	}
}

func (c *Context) derive(cancelled bool) *cancellable {
	parent := c.parent
	if cancelled {
		parent = context.WithoutCancel(parent) // the parent may have ended since, with another cause
	}
	l := new(cancellable)
	l.Context, l.cancel = context.WithCancelCause(parent)
	if cancelled {
		l.cancel(c.cause)
	}
	return l
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} { return c.start().Done() }

// Err implements [context.Context].
func (c *Context) Err() error {
	switch l := c.state.Load(); l {
	case nil:
		return c.parent.Err()
	case ended:
		return context.Canceled
	default:
		return l.Err()
	}
}

// Value implements [context.Context]. Package context uses it to find the context that
// cancels a child. After Done or End was called, that is this context, not its parent.
func (c *Context) Value(key any) any {
	if c.state.Load() == nil {
		return c.parent.Value(key)
	}
	return c.start().Value(key)
}
