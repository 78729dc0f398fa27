package guard

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/detach"
)

// An outage remembers that the engine is down, so that calls which run without it do
// not wait. Only the calls that find it out wait; then one background task probes the
// engine until it answers.
type outage struct {
	err     atomic.Pointer[error]
	probing atomic.Bool
}

// current returns why the engine is down, or nil if it is up.
func (o *outage) current() error {
	if err := o.err.Load(); err != nil {
		return *err
	}
	return nil
}

// end clears the outage. It loads first, since a store on every call would contend for the
// cache line.
func (o *outage) end() {
	if o.err.Load() != nil {
		o.err.Store(nil)
	}
}

// beginOutage records that the engine is down, and starts to probe it.
func (c *core) beginOutage(err error) {
	c.outage.err.Store(&err)
	if c.policy.OnDown != Closed && !c.inProcess && c.outage.probing.CompareAndSwap(false, true) {
		c.tasks.Go(c.probe)
	}
}

// probe asks the engine twice per LocalCache, until it answers or the guard is closed. It
// looks up a key that no call has.
func (c *core) probe() {
	tick := time.NewTicker(max(c.policy.LocalCache/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.closing:
			return
		}
		if !c.answers() {
			continue
		}
		c.outage.end()
		c.outage.probing.Store(false)
		// Another call may have found the engine down again, and seen that a probe runs.
		if c.outage.current() == nil || !c.outage.probing.CompareAndSwap(false, true) {
			return
		}
	}
}

// answers reports whether the engine answers.
func (c *core) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), detach.Timeout)
	defer cancel()
	_, err := c.ledger.Lookup(ctx, c.keyPrefix+":probe")
	return err == nil || !isDown(err) && ctx.Err() == nil
}
