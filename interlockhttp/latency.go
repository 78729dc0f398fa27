package interlockhttp

import (
	"sync/atomic"
	"time"
)

// A latencyAverage is how long handlers take, in nanoseconds. It is a mean in which the last
// ones count most.
type latencyAverage struct{ atomic.Int64 }

// record notes how long a handler took.
func (p *latencyAverage) record(d time.Duration) {
	was := p.Load()
	p.Store(was + (int64(d)-was)/8) // should another one do so meanwhile, one is left out
}

// retryAfter returns when to come back for something that runs. What is left of its lease
// says little, since that is renewed; how long others took says more.
func (p *latencyAverage) retryAfter(left time.Duration) time.Duration {
	return max(time.Second, min(time.Duration(p.Load()), left))
}
