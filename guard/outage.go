package guard

import (
	"sync/atomic"
	"time"
)

// An outage remembers that the engine was down, so that work which runs all the
// same does not wait for it each time. One caller at a time looks again.
type outage struct {
	err  atomic.Pointer[error]
	next atomic.Int64 // when to look again, in nanoseconds since 1970
}

// since returns why the engine is down, unless the caller is to look again.
func (o *outage) since(local time.Duration) error {
	err := o.err.Load()
	if err == nil {
		return nil
	}
	now, next := time.Now(), o.next.Load()
	if now.UnixNano() >= next && o.next.CompareAndSwap(next, now.Add(local).UnixNano()) {
		return nil
	}
	return *err
}

func (o *outage) note(err error, local time.Duration) {
	o.next.Store(time.Now().Add(local).UnixNano())
	o.err.Store(&err)
}

func (o *outage) over() {
	if o.err.Load() != nil {
		o.err.Store(nil)
	}
}
