package redisengine

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// calls are reused: acquiring and releasing a lock allocates only the strings that
// are new each time.
var calls = sync.Pool{New: func() any { return new(Call) }}

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
	c.Keys, c.Args, c.Renewal, c.Acks, c.AckTimeout = c.Keys[:0], c.Args[:0], false, 0, 0
	calls.Put(c)
}

func (c *Call) keys(names ...string) { c.Keys = append(c.Keys, names...) }
func (c *Call) args(args ...string)  { c.Args = append(c.Args, args...) }

// A lastText caches the text of the last value: arguments differ little from call to
// call.
type lastText[T comparable] struct{ last atomic.Pointer[rendered[T]] }

type rendered[T comparable] struct {
	of   T
	text string
}

func (t *lastText[T]) text(of T, render func(T) string) string {
	if r := t.last.Load(); r != nil && r.of == of {
		return r.text
	}
	r := &rendered[T]{of, render(of)}
	t.last.Store(r)
	return r.text
}

// millis renders durations in whole milliseconds.
type millis struct{ cached lastText[time.Duration] }

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
