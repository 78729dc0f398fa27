package interlock

import (
	"time"
	"unsafe"
)

// StepWall sets the wall clock ahead as seen by the client, as after a
// suspension in which the monotonic clock stood still.
func (c *Client) StepWall(d time.Duration) { c.core.clock.Step(d) }

// Lines returns how many keys the in-process level knows.
func (c *Client) Queues() (n int) {
	for i := range c.core.local.shards {
		p := &c.core.local.shards[i]
		p.mu.Lock()
		n += len(p.queues)
		p.mu.Unlock()
	}
	return n
}

// Leases returns how many leases the watchdog has in its charge.
func (c *Client) Leases() int { return len(c.core.watchdog.All()) }

// Idle waits until nothing is on its way in the background, and then stops
// listening for what operators do, as the end of the process would.
func (c *Client) Idle() {
	<-c.core.tasks.Wait()
	c.core.revocations.unsubscribe()
}

// MadeBefore makes the client as old as if the wall clock had gone ahead by d
// since, while the monotonic one stood still.
func (c *Client) MadeBefore(d time.Duration) {
	// A Time with a monotonic reading has 33 bits of seconds above 30 of
	// nanoseconds in its first word; no function moves one clock only.
	*(*uint64)(unsafe.Pointer(&c.core.clock.Base)) -= uint64(d/time.Second) << 30
}
