package quorum

import (
	"fmt"
	"time"
)

// An Option configures the engine that [New] returns.
type Option func(*Engine)

const (
	// defaultTimeout is far below a usual lease, because a node without an answer delays
	// its caller for this long.
	defaultTimeout = 500 * time.Millisecond
	// defaultLongest is also how long a new quorum grants nothing. Longer leases would cost
	// a longer wait.
	defaultLongest = time.Minute
)

// Timeout is how long a node may take to answer. A slower node counts as down for
// that call. An acquisition uses a tenth of the lease at most. Default: 500ms. Timeout
// panics if d is not above zero.
func Timeout(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("quorum: Timeout(%v): must be above zero; omit it for the default", d))
	}
	return func(e *Engine) { e.timeout = d }
}

// LongestLease is the longest lease that is granted. The votes of a restarted node do
// not count for that long: by then every lease it may have lost has expired. All
// processes that share the locks must use the same value. Default: 1m. LongestLease
// panics if d is not above zero.
func LongestLease(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("quorum: LongestLease(%v): must be above zero; omit it for the default", d))
	}
	return func(e *Engine) { e.longest = d }
}

// Durable declares that no node loses a lock it has granted: each syncs to disk before
// it answers, or is restarted only after the longest lease. Then no node is on
// probation, and leases have no limit.
func Durable() Option { return func(e *Engine) { e.longest = 0 } }
