package quorum

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A node is one of the engines, with its incarnation as last reported.
type node struct {
	engine.Engine
	name string
	caps engine.Capabilities

	// mu guards the fields below. It is not held during calls to the node.
	mu          sync.Mutex
	connections uint64             // number of connections when incarnation was read
	incarnation engine.Incarnation // as last reported
	since       time.Time          // when the incarnation began, at the latest
	confirmed   time.Time          // when the node last reported the incarnation
}

func newNode(i int, e engine.Engine) *node {
	return &node{Engine: e, name: fmt.Sprintf("node %d", i+1), caps: e.Capabilities()}
}

// counts reports whether a grant of the node counts: whether the node still has every
// lock it granted within the longest lease. It is called after the grant, so that a
// restart in between is noticed.
func (n *node) counts(ctx context.Context, longest time.Duration) (bool, error) {
	left, err := n.probation(ctx, longest)
	return err == nil && left <= 0, err
}

// probation returns for how long the node does not count; zero or less if it does.
func (n *node) probation(ctx context.Context, longest time.Duration) (time.Duration, error) {
	if longest == 0 || n.caps.Incarnations == nil {
		return 0, nil
	}
	since, err := n.incarnationSince(ctx)
	if err != nil {
		return 0, fmt.Errorf("quorum: %s does not report its incarnation: %w", n.name, err)
	}
	// drift allows for clocks that run at different rates during a lease.
	return longest - time.Since(since) + drift(longest), nil
}

// incarnationSince returns when the incarnation of the node began, at the latest. It
// asks the node only if it has reconnected since the last answer.
func (n *node) incarnationSince(ctx context.Context) (time.Time, error) {
	connections := n.caps.Incarnations.Connections() // read first: a reconnect meanwhile makes the next call ask again
	n.mu.Lock()
	same, since := connections != 0 && connections == n.connections, n.since
	n.mu.Unlock()
	if same {
		return since, nil
	}
	m, err := n.caps.Incarnations.Incarnation(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return n.recordIncarnation(connections, m, time.Now()), nil
}

// recordIncarnation stores an answer. A new incarnation began no earlier than the old
// one was last confirmed, whatever age it reports.
func (n *node) recordIncarnation(connections uint64, m engine.Incarnation, now time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch since := now.Add(-m.Age); {
	// Of two answers about one incarnation, the earlier start is closer: a node may
	// report too low an age, never too high a one.
	case n.incarnation.ID == "", n.incarnation.ID == m.ID && since.Before(n.since):
		n.since = since
	case n.incarnation.ID != m.ID:
		n.since = latest(since, n.confirmed)
	}
	n.connections, n.incarnation, n.confirmed = connections, m, now
	return n.since
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
