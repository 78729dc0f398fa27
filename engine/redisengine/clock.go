package redisengine

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// A serverClock estimates the server's clock from its answers, so that a call
// can say by that clock when it comes too late.
//
// The estimate is never ahead of the server, unless that has set its clock back
// since its last answer: each answer is older than the moment it arrives. Being
// behind costs a call that comes in time a second trip at worst.
type serverClock struct {
	start  time.Time
	cached atomic.Pointer[renderedTime]
	offset atomic.Int64 // the server's µs less ours; unknown before the first answer
}

const unknown = math.MinInt64

func (c *serverClock) init() {
	c.start = time.Now()
	c.offset.Store(unknown)
}

// forget makes the estimate unknown: the next answer may be another server's.
func (c *serverClock) forget() { c.offset.Store(unknown) }

// saw notes that an answer has arrived that was given at server, in µs.
func (c *serverClock) observe(server int64) {
	c.offset.Store(server - c.local())
}

// in returns what the server's clock will show after d, in µs, or 0 if that is
// not known.
func (c *serverClock) after(d time.Duration) int64 {
	ahead := c.offset.Load()
	if ahead == unknown {
		return 0
	}
	return (c.local() + ahead + d.Microseconds()) &^ (granularity - 1)
}

// coarse is how many µs are not told apart, so that calls of about the same time
// have the same text for it. Rounded down, a call is late too early at worst.
const granularity = 1 << 10

// text writes what in returned. It remembers the last.
func (c *serverClock) text(late int64) string {
	if w := c.cached.Load(); w != nil && w.late == late {
		return w.text
	}
	w := &renderedTime{late, strconv.FormatInt(late, 10)}
	c.cached.Store(w)
	return w.text
}

type renderedTime struct {
	late int64
	text string
}

func (c *serverClock) local() int64 { return time.Since(c.start).Microseconds() }
