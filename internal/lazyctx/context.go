// Package lazyctx has a context that ends when its owner says so, and costs
// nothing until somebody listens.
//
// Locks and claims hand one to whatever is done under them. Much of that is over
// before anybody could have listened, and to be told of a parent's end costs more
// than the rest of such a hold.
package lazyctx

import (
	"context"
	"sync/atomic"
	"time"
)

// A Context ends with its parent, or with End. It is made by Init, and is part of
// what it belongs to.
type Context struct {
	parent context.Context
	cause  error // set before now is gone
	now    atomic.Pointer[listened]
}

// listened is what a Context becomes once somebody listens.
type listened struct {
	context.Context
	cancel context.CancelCauseFunc
}

// gone is what a Context becomes that ends before anybody has listened.
var gone = new(listened)

// Init begins a context that has all of its parent.
func (c *Context) Init(parent context.Context) { c.parent = parent }

// Begun tells whether there was an Init.
func (c *Context) Begun() bool { return c.parent != nil }

// End ends the context, unless it has ended. It must be called once at most.
func (c *Context) End(cause error) {
	if c.now.Load() == nil && c.parent.Err() == nil {
		c.cause = cause
		if c.now.CompareAndSwap(nil, gone) {
			return
		}
	}
	c.listen().cancel(cause)
}

// listen makes the context one that tells of its end.
func (c *Context) listen() *listened {
	for {
		l := c.now.Load()
		if l != nil && l != gone {
			return l
		}
		next := c.listener(l == gone)
		if c.now.CompareAndSwap(l, next) {
			return next
		}
		next.cancel(nil) // somebody else was faster
	}
}

func (c *Context) listener(over bool) *listened {
	parent := c.parent
	if over {
		parent = context.WithoutCancel(parent) // which may have ended after it
	}
	l := new(listened)
	l.Context, l.cancel = context.WithCancelCause(parent)
	if over {
		l.cancel(c.cause)
	}
	return l
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} { return c.listen().Done() }

// Err implements [context.Context].
func (c *Context) Err() error {
	switch l := c.now.Load(); l {
	case nil:
		return c.parent.Err()
	case gone:
		return context.Canceled
	default:
		return l.Err()
	}
}

// Value implements [context.Context]. Package context asks it for what it knows
// of a context's end, so the parent answers only while that is the same.
func (c *Context) Value(key any) any {
	if c.now.Load() == nil {
		return c.parent.Value(key)
	}
	return c.listen().Value(key)
}
