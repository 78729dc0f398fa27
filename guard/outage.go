package guard

import (
	"sync/atomic"
	"time"
)

// An outage remembers that the engine is down, so that calls which run without it do
// not wait each time. One caller at a time probes the engine again.
type outage struct {
	err       atomic.Pointer[error]
	nextProbe atomic.Int64 // when to probe again, in nanoseconds since 1970
}

// current returns why the engine is down. It returns nil if the engine is up, or if
// this caller is to probe it.
func (o *outage) current(interval time.Duration) error {
	err := o.err.Load()
	if err == nil {
		return nil
	}
	now, next := time.Now(), o.nextProbe.Load()
	if now.UnixNano() >= next && o.nextProbe.CompareAndSwap(next, now.Add(interval).UnixNano()) {
		return nil
	}
	return *err
}

func (o *outage) begin(err error, interval time.Duration) {
	o.nextProbe.Store(time.Now().Add(interval).UnixNano())
	o.err.Store(&err)
}

// end clears the outage. It loads first, since a store on every call would contend for the
// cache line.
func (o *outage) end() {
	if o.err.Load() != nil {
		o.err.Store(nil)
	}
}
