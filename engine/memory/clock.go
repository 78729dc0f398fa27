package memory

import (
	"math"
	"time"
)

// Step moves the engine's clock by d, forwards or back, for tests. The clock of a
// server may move, too.
func (e *Engine) Step(d time.Duration) { e.stepped.Add(int64(d)) }

// now returns the engine's time in nanoseconds since 1970. It follows the monotonic
// clock, so that only Step makes it jump.
func (e *Engine) now() int64 {
	return e.start.UnixNano() + int64(time.Since(e.start)) + e.stepped.Load()
}

// after returns now plus lease, without overflow.
func after(now int64, lease time.Duration) int64 {
	if now > 0 && int64(lease) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(lease)
}
