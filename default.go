package interlock

import (
	"context"
	"sync/atomic"
)

// std is the client of code that was given none. It is made when first asked
// for; woven code needs it, since a directive has nowhere to name a client.
var std atomic.Pointer[Client]

// SetDefault makes c the client that [From] falls back to.
func SetDefault(c *Client) { std.Store(c) }

type clientKey struct{}

// NewContext returns a context that carries c for [From] to find.
func NewContext(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// From returns the client that ctx carries, or the default: the one set by
// [SetDefault], or else one on an engine in this process.
func From(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok {
		return c
	}
	if c := std.Load(); c != nil {
		return c
	}
	std.CompareAndSwap(nil, New(nil))
	return std.Load()
}
