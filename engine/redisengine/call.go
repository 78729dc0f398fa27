package redisengine

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// calls are reused: acquiring and releasing a lock allocates only the strings that
// are new each time.
var calls = sync.Pool{New: func() any { return new(Call) }}

// call returns an empty call from the pool. The caller frees it after Eval, which must
// not use it any longer; see [Client].
func (e *Engine) call(s *Script) *Call {
	c := calls.Get().(*Call)
	c.Script, c.Timeout = s, e.timeout
	return c
}

// free returns c to the pool. It clears the strings, so that the pool does not keep
// them alive.
func (c *Call) free() {
	clear(c.Keys)
	clear(c.Args)
	c.Keys, c.Args, c.Renewal, c.late, c.Acks, c.AckTimeout = c.Keys[:0], c.Args[:0], false, lateGrant{}, 0, 0
	calls.Put(c)
}

// eval runs a call and reports it to the observers.
func (e *Engine) eval(ctx context.Context, c *Call) (Reply, error) {
	if !e.calls.Active() {
		return e.client.Eval(ctx, c)
	}
	operation, node, start := c.Script.Name, e.nodeOf(c), time.Now()
	reply, err := e.client.Eval(ctx, c)
	e.calls.Call(engine.ServerCall{Operation: operation, Node: node, Took: time.Since(start), Err: observed(c.Script, err)})
	return reply, err
}

// nodeOf returns the address of the server that a call goes to, as far as it is known.
func (e *Engine) nodeOf(c *Call) string {
	switch {
	case e.cluster != nil && len(c.Keys) > 0:
		return e.cluster.LastPrimary(c.Keys[0])
	case e.cluster == nil && e.address != nil && e.address.topology == engine.Standalone: // otherwise hosts are the sentinels
		return e.address.hosts[0]
	}
	return ""
}

// keys and args append to a call. Their order is that in the head of each .lua file.
func (c *Call) keys(names ...string) { c.Keys = append(c.Keys, names...) }
func (c *Call) args(args ...string)  { c.Args = append(c.Args, args...) }

// A lastText caches the text of the last value: arguments differ little from call to
// call.
type lastText[T comparable] struct{ last atomic.Pointer[cachedText[T]] }

// A cachedText is a value with its text. It is never changed, so readers need no mutex.
type cachedText[T comparable] struct {
	value T
	text  string
}

// text returns the text of a value. Two goroutines with different values replace each
// other's text, which costs time but is correct.
func (t *lastText[T]) text(value T, render func(T) string) string {
	if c := t.last.Load(); c != nil && c.value == value {
		return c.text
	}
	c := &cachedText[T]{value, render(value)}
	t.last.Store(c)
	return c.text
}

// millis renders durations in whole milliseconds.
type millis struct{ cached lastText[time.Duration] }

// text returns d in milliseconds, the unit of PX and PEXPIRE.
func (m *millis) text(d time.Duration) string {
	return m.cached.text(d, func(d time.Duration) string { return strconv.FormatInt(ceil(d), 10) })
}

// ceil rounds up to whole milliseconds: a lease must not end early, nor be zero.
func ceil(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return ms
}
