// Package quorum combines several independent engines into one. A lock is held if
// a majority of the nodes has granted it.
//
//	e, err := quorum.New([]engine.Engine{a, b, c, d, f})
//
// With five nodes, two may be down, unreachable or restarted, and locks are still
// granted, renewed and released; with three nodes, one may. An even number is
// allowed and gains nothing: six nodes tolerate two failures, as five do.
//
// # Guarantees
//
// A lock has one holder at a time under two conditions. The clocks of this process
// and the nodes differ by at most 1 % in rate, and none is set by more than 1 % of a
// lease. Only a minority of nodes is down or has lost its memory.
//
// Fences of requests with Fenced rise strictly while a majority of the nodes has the
// last fence. Otherwise they follow the nodes' clocks.
//
// A restarted node may have lost the locks it granted. It is on probation: it
// grants locks, but its votes do not count until every lease it may have lost has
// expired. That takes [LongestLease]. A quorum of new nodes waits as long. Nodes
// without [engine.Incarnations] always count, and so do all nodes with [Durable].
//
// # Limits
//
// A quorum supports neither fair locks nor permits nor read/write locks: there is
// no common order of several nodes, and no majority for a lock with several
// holders. Nor does it keep records of guards: a record has one copy. A plain fence
// follows the nodes' clocks and may fall by as much as they differ; use Fenced
// where a store checks fences. A named owner that enters from a second process may
// get a higher fence there.
package quorum

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Engine = (*Engine)(nil)

// An Engine is a quorum of engines. Use [New].
type Engine struct {
	nodes   []*node
	need    int // the size of a majority
	timeout time.Duration
	longest time.Duration // zero if no node loses its memory
	caps    engine.Capabilities

	order callOrder
	holds holds

	// mu guards closed, and orders running.Add before Close waits.
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // calls, and their background work
	ended   chan struct{}  // closed by Close
}

// minNodes is the smallest number of nodes. With two nodes, both would have to be up.
const minNodes = 3

// New combines engines into a quorum. The caller closes them after the quorum.
func New(engines []engine.Engine, opts ...Option) (*Engine, error) {
	if len(engines) < minNodes {
		return nil, fmt.Errorf("quorum: %d engines cannot tolerate a failure: use three or five, each on its own machine", len(engines))
	}
	e := &Engine{need: len(engines)/2 + 1, timeout: defaultTimeout, longest: defaultLongest, ended: make(chan struct{})}
	for i, part := range engines {
		if part == nil {
			return nil, fmt.Errorf("quorum: engine %d of %d is nil: open it first", i+1, len(engines))
		}
		e.nodes = append(e.nodes, newNode(i, part))
	}
	for _, opt := range opts {
		opt(e)
	}
	// The options come first: LongestLease is one of the capabilities.
	e.caps = e.capabilities()
	return e, nil
}

// Close waits for calls in progress, for two timeouts at most. Later calls fail with
// [engine.ErrClosed]. Close does not close the nodes.
func (e *Engine) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		// Subscriptions have no timeout, so they end when ended is closed. Calls end by
		// their timeouts.
		close(e.ended)
	}
	e.mu.Unlock()
	e.running.Wait()
	return nil
}

var errClosed = fmt.Errorf("quorum: %w: used after Close", engine.ErrClosed)

// begin starts a call, and end finishes it. Background work of a call is counted in
// running, too. begin checks closed under the mutex, because Add must not race with Wait.
func (e *Engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	e.running.Add(1)
	return nil
}

func (e *Engine) end() { e.running.Done() }

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities { return e.caps }

// capabilities combines those of the nodes. One node with notifications is enough: the
// others count as silent. An inspector needs all nodes.
func (e *Engine) capabilities() engine.Capabilities {
	combined := engine.Capabilities{Prober: prober{e}, LongestLease: e.longest}
	inspectors := 0
	for _, n := range e.nodes {
		combined.LateGrant = max(combined.LateGrant, n.caps.LateGrant)
		if n.caps.Notifier != nil {
			combined.Notifier = notifier{e}
		}
		if n.caps.Observe != nil {
			combined.Observe = e.observe
		}
		if n.caps.Inspector != nil {
			inspectors++
		}
	}
	if inspectors == len(e.nodes) {
		combined.Inspector = inspector{e}
	}
	return combined
}

// observe reports the requests to the servers of all nodes.
func (e *Engine) observe(f func(engine.ServerCall)) (stop func()) {
	var stops []func()
	for _, n := range e.nodes {
		if n.caps.Observe != nil {
			stops = append(stops, n.caps.Observe(func(c engine.ServerCall) {
				c.Node = cmp.Or(c.Node, n.name)
				f(c)
			}))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// withoutFencer returns the first node that cannot raise a fence, or nil.
func (e *Engine) withoutFencer() *node {
	for _, n := range e.nodes {
		if n.caps.Fencer == nil {
			return n
		}
	}
	return nil
}

// drift returns how far two clocks may differ after a lease. The client uses the same
// figure. 1 % is the rate that the package comment assumes. 2ms, as in Redlock, cover the
// rounding of leases to whole milliseconds.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// noEffect reports whether a call that failed with err certainly had no effect.
func noEffect(err error) bool { return !errors.Is(err, engine.ErrUnknown) }
