package quorum

import (
	"context"
	"sync"
)

// callOrder makes the calls of this process for one key reach every node in the same
// order. A caller gets its answer from a majority, so the next call for the key may
// begin while the last one is still on its way to other nodes: a release must not
// overtake its acquisition. It also prevents two callers of this process from splitting the
// votes of the nodes.
type callOrder struct {
	mu     sync.Mutex
	queues map[string]*callQueue
}

// A callQueue holds the calls for one key. It exists only while calls are in progress, so
// keys leave no memory behind.
type callQueue struct {
	last []chan struct{} // by node: closed when its last call has ended; nil if none is in progress
	open int             // calls in progress
}

// A ticket is the position of a call at a node.
type ticket struct {
	order    *callOrder
	key      string
	node     int
	previous <-chan struct{} // closed when the previous call has ended; nil without one
	ended    chan struct{}
}

// all adds a call at each of n nodes. The mutex is held for all of them, so that two
// calls have the same order at every node.
func (t *callOrder) all(key string, n int) []ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	tickets := make([]ticket, n)
	for i := range tickets {
		tickets[i] = t.add(key, i, n)
	}
	return tickets
}

// one adds a call at one of n nodes.
func (t *callOrder) one(key string, node, n int) ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(key, node, n)
}

// add appends a call to the queue of a node. The caller holds the mutex.
func (t *callOrder) add(key string, node, n int) ticket {
	if t.queues == nil {
		t.queues = make(map[string]*callQueue)
	}
	l := t.queues[key]
	if l == nil {
		l = &callQueue{last: make([]chan struct{}, n)}
		t.queues[key] = l
	}
	added := ticket{order: t, key: key, node: node, previous: l.last[node], ended: make(chan struct{})}
	l.last[node] = added.ended
	l.open++
	return added
}

// wait waits for the previous call, or until ctx is done.
func (t *ticket) wait(ctx context.Context) error {
	if t.previous == nil {
		return nil
	}
	select {
	case <-t.previous:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end lets the next call begin, after all previous calls have ended.
func (t *ticket) end() {
	if t.previous != nil {
		<-t.previous
	}
	t.order.mu.Lock()
	defer t.order.mu.Unlock()
	close(t.ended)
	l := t.order.queues[t.key]
	// Without a later call, the next one need not wait.
	if l.last[t.node] == t.ended {
		l.last[t.node] = nil
	}
	if l.open--; l.open == 0 {
		delete(t.order.queues, t.key)
	}
}
