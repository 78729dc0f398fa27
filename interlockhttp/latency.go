package interlockhttp

import (
	"sync/atomic"
	"time"
)

// A latencyAverage is a moving average of how long handlers take, in nanoseconds.
type latencyAverage struct{ atomic.Int64 }

// record adds the duration of a handler.
func (p *latencyAverage) record(d time.Duration) {
	average := p.Load()
	p.Store(average + (int64(d)-average)/8) // a concurrent update may be lost, which does no harm
}

// retryAfter estimates when running work ends. The average is a better estimate than the
// time left on the lease, because the lease is renewed.
func (p *latencyAverage) retryAfter(left time.Duration) time.Duration {
	return max(time.Second, min(time.Duration(p.Load()), left))
}
