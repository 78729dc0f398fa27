package quorum

import (
	"slices"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// A notifier merges the notifications of all nodes.
type notifier struct{ *Engine }

// Notify implements [engine.Notifier]. A waiter is notified when a majority of nodes
// has notified: a lock that is free at a minority cannot be acquired.
func (n notifier) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return n.subscribe(n.need, func(part *node) (<-chan struct{}, func()) {
		if part.caps.Notifier == nil {
			// A nil channel never receives, so forward is not started for this node.
			return nil, func() {}
		}
		return part.caps.Notifier.Notify(r)
	})
}

// subscribe subscribes at all nodes, and wakes when need nodes have notified since the
// last wake-up.
func (e *Engine) subscribe(need int, listen func(*node) (<-chan struct{}, func())) (wake <-chan struct{}, stop func()) {
	x := &subscription{need: need, counts: make([]int, len(e.nodes)), wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	// After Close the channel never receives: the waiter's next call fails with
	// ErrClosed.
	if err := e.begin(); err != nil {
		return x.wake, func() {}
	}
	defer e.end()
	// All subscriptions exist before the first goroutine starts, so record knows how many
	// nodes are silent.
	wakes, stops := make([]<-chan struct{}, len(e.nodes)), make([]func(), len(e.nodes))
	for i, n := range e.nodes {
		if wakes[i], stops[i] = listen(n); wakes[i] == nil {
			x.silent++
		}
	}
	for i, from := range wakes {
		if from != nil {
			e.running.Go(func() { e.forward(x, i, from) }) // ends with stop or Close
		}
	}
	return x.wake, sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
		close(x.stopped)
	})
}

// forward passes on the notifications of one node. It ends with stop or Close.
func (e *Engine) forward(x *subscription, i int, from <-chan struct{}) {
	for {
		select {
		case <-from:
			x.record(i)
		case <-x.stopped:
			return
		case <-e.ended:
			return
		}
	}
}

// A subscription counts the notifications of the nodes.
type subscription struct {
	need    int // nodes that must have notified
	silent  int // nodes without notifications
	wake    chan struct{}
	stopped chan struct{} // closed by stop

	// mu guards the fields below. The goroutines of all nodes record here.
	mu     sync.Mutex
	counts []int // notifications by node
	woken  int   // wake-ups so far
}

// record counts a notification of a node.
func (x *subscription) record(i int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts[i] = max(x.counts[i], x.woken-1) + 1 // a node that missed notifications counts again at once
	sorted := slices.Sorted(slices.Values(x.counts))
	// If fewer nodes than a majority have notifications, all of them are needed.
	need := min(x.need, len(sorted)-x.silent)
	if n := sorted[len(sorted)-need]; n > x.woken {
		x.woken = n
		select {
		case x.wake <- struct{}{}:
		default: // the last notification is unread, so they merge
		}
	}
}
