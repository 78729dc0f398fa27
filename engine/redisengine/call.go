package redisengine

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// calls are used again and again: a lock that is taken and released allocates
// nothing but the strings that differ every time.
var calls = sync.Pool{New: func() any { return new(Call) }}

func (e *Engine) call(s *Script) *Call {
	c := calls.Get().(*Call)
	c.Script, c.Timeout = s, e.timeout
	return c
}

// free gives c back. What it held is cleared, lest the pool keep it alive.
func (c *Call) free() {
	clear(c.Keys)
	clear(c.Args)
	c.Keys, c.Args, c.Renewal, c.Acks, c.AckTimeout = c.Keys[:0], c.Args[:0], false, 0, 0
	calls.Put(c)
}

func (c *Call) keys(names ...string) { c.Keys = append(c.Keys, names...) }
func (c *Call) args(args ...string)  { c.Args = append(c.Args, args...) }

// millis writes durations as whole milliseconds, rounded up: a lease must not
// end before its time, nor be zero. It remembers the last, since most leases of
// a program are the same.
type millis struct {
	cached atomic.Pointer[renderedMillis]
}

type renderedMillis struct {
	d    time.Duration
	text string
}

func (m *millis) text(d time.Duration) string {
	if w := m.cached.Load(); w != nil && w.d == d {
		return w.text
	}
	w := &renderedMillis{d, strconv.FormatInt(ceil(d), 10)}
	m.cached.Store(w)
	return w.text
}

func ceil(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d > time.Duration(ms)*time.Millisecond {
		ms++
	}
	return ms
}
