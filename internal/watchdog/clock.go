package watchdog

import (
	"sync/atomic"
	"time"
)

// A Clock reads monotonic time, which stops while the machine sleeps, and wall
// time, which can be set. A lease is safe only by both.
type Clock struct {
	Base time.Time    // the origin of monotonic time
	step atomic.Int64 // added to the wall clock by tests, in nanoseconds
}

// NewClock returns a Clock that begins now.
func NewClock() *Clock { return &Clock{Base: time.Now()} }

// Step sets the wall clock ahead, for tests: as after a suspension, while which
// the monotonic clock stops.
func (c *Clock) Step(d time.Duration) { c.step.Add(int64(d)) }

func (c *Clock) mono(t time.Time) int64 { return int64(t.Sub(c.Base)) }

// at is the inverse of mono.
func (c *Clock) at(mono int64) time.Time { return c.Base.Add(time.Duration(mono)) }

func (c *Clock) wall(t time.Time) int64 { return t.UnixNano() + c.step.Load() }

// MinDrift is how far two clocks may differ over a very short time.
const MinDrift = 2 * time.Millisecond

// driftFraction bounds the rate: two clocks differ by less than 1 % of a span.
const driftFraction = 100

// Drift returns how far two clocks may differ after d. A lease ends that much
// earlier here than at the engine.
func Drift(d time.Duration) time.Duration { return d/driftFraction + MinDrift }

// SafeUntil returns until when a lease is safe whose request was sent at sent,
// whenever the engine granted it.
func SafeUntil(sent time.Time, lease time.Duration) time.Time {
	return sent.Add(lease - Drift(lease))
}
