// Package quorum makes one engine of several that know nothing of each other: a
// lock is held if most of them say so.
//
//	e, err := quorum.New([]engine.Engine{a, b, c, d, f})
//
// With five nodes two may be down, forget everything or be unreachable, and locks
// are granted, renewed and released as if nothing had happened; with three, one
// may. An even number is allowed, and buys nothing: six nodes stand two that fail,
// as five do.
//
// # What is promised
//
// Two holders never have a lock at a time as long as the clocks of this process
// and the nodes run at the same rate to 1 % over a lease, none of them is set by
// more, and no more than a minority of nodes is down or has forgotten. Fences of
// requests with Fenced rise strictly as long as most of the nodes that knew the
// last one still do, and otherwise by the clock.
//
// A node that was started anew may have forgotten whom it granted locks to. It
// sits out: it grants and keeps what it is asked for, but does not count, until
// every lease it may have forgotten has run out. That takes [LongestLease]; so
// does a quorum of which all nodes are new. Nodes that do not tell how far their
// memory reaches back, see [engine.Incarnations], count always; so do those of which
// [Durable] says that they forget nothing.
//
// # What is not promised
//
// Fairness, permits and read/write locks: an order that every node keeps for itself
// is no order of all, and what several may hold has no majority to speak of. Nor
// records of work that is to happen once, which need one home. A plain fence goes by
// the nodes' clocks, and may fall by as much as they differ: where a fence is
// checked, ask for Fenced. A named owner that enters from a second process may be
// told a higher fence than in the first.
package quorum

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

var _ engine.Engine = (*Engine)(nil)

// An Engine is several engines made one. Use [New].
type Engine struct {
	nodes   []*node
	need    int // how many are most of them
	bound   time.Duration
	longest time.Duration // zero if no node forgets anything
	can     engine.Capabilities

	turns turns
	holds holds

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // calls, and what goes on after them
	ended   chan struct{}  // closed by Close
}

// least is how many nodes there must be: of two both would have to be up.
const least = 3

// New makes one engine of several. They stay the caller's to close, after the
// engine that is made of them.
func New(engines []engine.Engine, opts ...Option) (*Engine, error) {
	if len(engines) < least {
		return nil, fmt.Errorf("quorum: %d engines make no quorum that outlives one of them: give three or five, each on a machine of its own", len(engines))
	}
	e := &Engine{need: len(engines)/2 + 1, bound: defaultBound, longest: defaultLongest, ended: make(chan struct{})}
	for i, part := range engines {
		if part == nil {
			return nil, fmt.Errorf("quorum: engine %d of %d is nil: open it first", i+1, len(engines))
		}
		e.nodes = append(e.nodes, newNode(i, part))
	}
	for _, opt := range opts {
		opt(e)
	}
	e.can = e.capabilities()
	return e, nil
}

// Close waits for what is still under way, which the bound of a call or two ends.
// Calls after it fail with [engine.ErrClosed]. The engines it was made of stay open.
func (e *Engine) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.ended)
	}
	e.mu.Unlock()
	e.running.Wait()
	return nil
}

var errClosed = fmt.Errorf("quorum: %w: it was used after Close", engine.ErrClosed)

// enter lets a call begin, which leave ends. What the call starts and does not wait
// for is running, too.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	e.running.Add(1)
	return nil
}

func (e *Engine) leave() { e.running.Done() }

// Capabilities implements [engine.Engine].
func (e *Engine) Capabilities() engine.Capabilities { return e.can }

func (e *Engine) capabilities() engine.Capabilities {
	can := engine.Capabilities{Prober: prober{e}, LongestLease: e.longest}
	inspectors := 0
	for _, n := range e.nodes {
		can.LateGrant = max(can.LateGrant, n.can.LateGrant)
		if n.can.Notifier != nil {
			can.Notifier = notifier{e}
		}
		if n.can.Inspector != nil {
			inspectors++
		}
	}
	if inspectors == len(e.nodes) {
		can.Inspector = inspector{e}
	}
	return can
}

// unfencing returns the first node that cannot agree on a fence, or nil.
func (e *Engine) unfencing() *node {
	for _, n := range e.nodes {
		if n.can.Fencer == nil {
			return n
		}
	}
	return nil
}

// drift is by how much two clocks may run apart over a lease, as the client above
// counts, too.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// sure reports whether err says for certain that nothing has happened.
func sure(err error) bool { return !errors.Is(err, engine.ErrUnknown) }
