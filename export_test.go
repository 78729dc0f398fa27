package interlock

import (
	"time"
	"unsafe"
)

// StepWall sets the wall clock of the client ahead. After a suspension it is ahead as
// well, because the monotonic clock stops during the suspension.
func (c *Client) StepWall(d time.Duration) { c.core.clock.Step(d) }

// Queues returns the number of local queues.
func (c *Client) Queues() (n int) {
	for i := range c.core.local.shards {
		p := &c.core.local.shards[i]
		p.mu.Lock()
		n += len(p.queues)
		p.mu.Unlock()
	}
	return n
}

// Leases returns the number of leases in the watchdog.
func (c *Client) Leases() int { return len(c.core.watchdog.All()) }

// Idle waits until no background task is in progress, and then stops listening for
// revocations, as the end of the process would.
func (c *Client) Idle() {
	<-c.core.tasks.Wait()
	c.core.revocations.unsubscribe()
}

// MadeBefore makes the client older by d on the wall clock, but not on the monotonic
// clock.
func (c *Client) MadeBefore(d time.Duration) {
	// A Time with a monotonic reading has 33 bits of seconds above 30 bits of
	// nanoseconds in its first word. Package time cannot change one clock only.
	*(*uint64)(unsafe.Pointer(&c.core.clock.Base)) -= uint64(d/time.Second) << 30
}

// Bounds returns the beginning and the end of the calendar window at a time.
func Bounds(w Window, now time.Time) (from, until time.Time) { return w.bounds(now) }
