package quorum

import (
	"fmt"
	"time"
)

// An Option changes what [New] makes.
type Option func(*Engine)

const (
	defaultBound   = 500 * time.Millisecond
	defaultLongest = time.Minute
)

// Bound is how long a node may take to answer. One that takes longer counts as
// down, for that call. The default is 500 ms; to take a lock it is never more than
// a tenth of the lease, of which most must be left when most have answered. Bound
// panics if d is not above zero.
func Bound(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("quorum: Bound(%v) would let every node be too slow: leave it out for the default", d))
	}
	return func(e *Engine) { e.bound = d }
}

// LongestLease is the longest lease that is granted. A node that was started anew
// does not count for as long: that is when the last lease has run out which it may
// have forgotten. All processes that share the locks must say the same. The default
// is a minute. LongestLease panics if d is not above zero.
func LongestLease(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("quorum: LongestLease(%v) would refuse every lease: leave it out for the default", d))
	}
	return func(e *Engine) { e.longest = d }
}

// Durable says that no node ever forgets what it has granted: each has it on its
// disk before it answers, or whoever starts one anew waits for the longest lease
// before it can be reached. Then no node is asked, none sits out, and a lease may be
// as long as you like.
func Durable() Option { return func(e *Engine) { e.longest = 0 } }
