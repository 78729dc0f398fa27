package watchdog

import (
	"sync/atomic"
	"time"
)

// A Clock tells monotonic time, which stops while the machine sleeps, from wall
// time, which may be set. A lease must outlive both.
type Clock struct {
	Base time.Time    // the origin of monotonic time
	step atomic.Int64 // what tests add to the wall clock, in nanoseconds
}

// NewClock returns a Clock that begins now.
func NewClock() *Clock { return &Clock{Base: time.Now()} }

// Step sets the wall clock ahead, for tests, as after a suspension in which the
// monotonic clock stood still.
func (c *Clock) Step(d time.Duration) { c.step.Add(int64(d)) }

func (c *Clock) mono(t time.Time) int64 { return int64(t.Sub(c.Base)) }

// at returns the time that mono returned something for.
func (c *Clock) at(mono int64) time.Time { return c.Base.Add(time.Duration(mono)) }

func (c *Clock) wall(t time.Time) int64 { return t.UnixNano() + c.step.Load() }

// DriftLeast is by how much two clocks may run apart over no time at all.
const DriftLeast = 2 * time.Millisecond

// driftPart is which part of a span they may run apart over it: less than 1 %.
const driftPart = 100

// Drift returns by how much two clocks may run apart over d. So much earlier than
// the engine we let a lease end.
func Drift(d time.Duration) time.Duration { return d/driftPart + DriftLeast }

// SureUntil returns until when a lease is certainly ours that was asked for at
// sent, whenever the engine may have granted it after that.
func SureUntil(sent time.Time, lease time.Duration) time.Time {
	return sent.Add(lease - Drift(lease))
}
