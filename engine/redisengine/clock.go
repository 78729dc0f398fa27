package redisengine

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// A serverClock estimates the server's clock from its replies, so that a call can
// carry a deadline by that clock.
//
// The estimate is never ahead of the server, because each reply is older than its arrival.
// The exception is a server that set its clock back after its last reply. If the estimate
// is behind, a call that is not late may need a second round trip.
type serverClock struct {
	start  time.Time
	offset atomic.Int64 // server's µs minus ours; unknown before the first reply
	cached lastText[int64]
}

// unknown is an offset that no two clocks have.
const unknown = math.MinInt64

// init must be called before the first use: a zero offset would be an estimate.
func (c *serverClock) init() {
	c.start = time.Now()
	c.offset.Store(unknown)
}

// forget resets the estimate, because another server may answer next.
func (c *serverClock) forget() { c.offset.Store(unknown) }

// observe records the server's time in µs of a reply that has just arrived.
func (c *serverClock) observe(server int64) {
	c.offset.Store(server - c.local())
}

// after returns the server's time in µs after d, or 0 if it is unknown.
func (c *serverClock) after(d time.Duration) int64 {
	offset := c.offset.Load()
	if offset == unknown {
		return 0
	}
	return (c.local() + offset + d.Microseconds()) &^ (granularity - 1)
}

// granularity is the step between deadlines, in µs. Calls of about the same time have the
// same deadline, so that its text can be cached. Deadlines are rounded down, so none is too
// late.
const granularity = 1 << 10

// text renders a deadline that after has returned.
func (c *serverClock) text(deadline int64) string {
	return c.cached.text(deadline, func(us int64) string { return strconv.FormatInt(us, 10) })
}

// local returns the monotonic time in µs, which no change of the local clock affects.
func (c *serverClock) local() int64 { return time.Since(c.start).Microseconds() }
