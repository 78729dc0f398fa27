package watchdog

import (
	"sync/atomic"
	"time"
)

// A Clock reads monotonic time, which stops while the machine sleeps, and wall
// time, which can be set. A lease is safe only if both clocks say so.
type Clock struct {
	Base time.Time    // the origin of monotonic time
	step atomic.Int64 // added to the wall clock by tests, in nanoseconds
}

// NewClock returns a Clock that begins now.
func NewClock() *Clock { return &Clock{Base: time.Now()} }

// Step sets the wall clock ahead, for tests. After a suspension it is ahead as well,
// because the monotonic clock stops during the suspension.
func (c *Clock) Step(d time.Duration) { c.step.Add(int64(d)) }

func (c *Clock) mono(t time.Time) int64 { return int64(t.Sub(c.Base)) }

// at is the inverse of mono.
func (c *Clock) at(mono int64) time.Time { return c.Base.Add(time.Duration(mono)) }

func (c *Clock) wall(t time.Time) int64 { return t.UnixNano() + c.step.Load() }

// MinDrift is how far two clocks may differ over a very short time.
const MinDrift = 2 * time.Millisecond

// driftFraction bounds the drift rate: two clocks differ by less than 1/100 of a span.
const driftFraction = 100

// Drift returns how far two clocks may differ after d. A lease ends that much
// earlier here than at the engine.
func Drift(d time.Duration) time.Duration { return d/driftFraction + MinDrift }

// SafeUntil returns until when a lease is safe if its request was sent at sent. The
// engine granted it later, so the engine's lease ends later as well.
func SafeUntil(sent time.Time, lease time.Duration) time.Time {
	return sent.Add(lease - Drift(lease))
}
