package quorum

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/interlock-go/interlock/engine"
)

// A node is one of the engines, and what is known of its memory.
type node struct {
	engine.Engine
	name string
	can  engine.Capabilities

	mu          sync.Mutex
	connections uint64             // when its memory was last asked for
	memory      engine.Incarnation // what it said
	since       time.Time          // when that memory began, at the latest
	seen        time.Time          // when it was last asked for
}

func newNode(i int, e engine.Engine) *node {
	return &node{Engine: e, name: fmt.Sprintf("node %d", i+1), can: e.Capabilities()}
}

// witness reports whether what the node has granted counts: whether it remembers
// everything that others were granted in the last longest. It is asked after the
// grant, so that a node which forgets in between is found out.
func (n *node) witness(ctx context.Context, longest time.Duration) (bool, error) {
	left, err := n.sitsOut(ctx, longest)
	return err == nil && left <= 0, err
}

// sitsOut returns for how long the node does not count yet; not above zero if it
// does.
func (n *node) sitsOut(ctx context.Context, longest time.Duration) (time.Duration, error) {
	if longest == 0 || n.can.Incarnations == nil {
		return 0, nil
	}
	since, err := n.began(ctx)
	if err != nil {
		return 0, fmt.Errorf("quorum: %s does not tell how far its memory reaches back: %w", n.name, err)
	}
	return longest - time.Since(since) + drift(longest), nil
}

// began returns when the memory of the node began, at the latest. It asks only if
// the node may have another one since it was asked last.
func (n *node) began(ctx context.Context) (time.Time, error) {
	connections := n.can.Incarnations.Connections() // before it is asked: who connects meanwhile makes it ask again
	n.mu.Lock()
	same, since := connections != 0 && connections == n.connections, n.since
	n.mu.Unlock()
	if same {
		return since, nil
	}
	m, err := n.can.Incarnations.Incarnation(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return n.note(connections, m, time.Now()), nil
}

// note remembers what the node has said about its memory. One that takes the place
// of another did not begin before that was last seen, however old it says it is.
func (n *node) note(connections uint64, m engine.Incarnation, now time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch since := now.Add(-m.Age); {
	case n.memory.ID == "", n.memory.ID == m.ID && since.Before(n.since):
		n.since = since
	case n.memory.ID != m.ID:
		n.since = latest(since, n.seen)
	}
	n.connections, n.memory, n.seen = connections, m, now
	return n.since
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
