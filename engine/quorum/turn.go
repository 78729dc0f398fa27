package quorum

import (
	"context"
	"sync"
)

// turns let the calls of this process for one key reach every node in the order in
// which they began. A caller is answered when most nodes have, so the next call for
// the same key may begin while the last is still on its way to the others: a release
// must not overtake what it is to end. And two who ask here at once never get a
// minority each.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// A line is the calls for one key.
type line struct {
	last []chan struct{} // of each node, when the last call there has ended; nil if none is under way
	open int             // turns that have not ended
}

// A turn is the place of a call at a node.
type turn struct {
	turns *turns
	key   string
	node  int
	first <-chan struct{} // closed when the call before it has ended; nil if there is none
	ended chan struct{}
}

// all takes a turn at each of n nodes.
func (t *turns) all(key string, n int) []turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := make([]turn, n)
	for i := range taken {
		taken[i] = t.take(key, i, n)
	}
	return taken
}

// one takes a turn at one of n nodes.
func (t *turns) one(key string, node, n int) turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.take(key, node, n)
}

func (t *turns) take(key string, node, n int) turn {
	if t.lines == nil {
		t.lines = make(map[string]*line)
	}
	l := t.lines[key]
	if l == nil {
		l = &line{last: make([]chan struct{}, n)}
		t.lines[key] = l
	}
	mine := turn{turns: t, key: key, node: node, first: l.last[node], ended: make(chan struct{})}
	l.last[node] = mine.ended
	l.open++
	return mine
}

// wait returns when those before have ended, or why it does not wait for longer.
func (t *turn) wait(ctx context.Context) error {
	if t.first == nil {
		return nil
	}
	select {
	case <-t.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end lets the next have its turn, but none past those who came before.
func (t *turn) end() {
	if t.first != nil {
		<-t.first
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	close(t.ended)
	l := t.turns.lines[t.key]
	if l.last[t.node] == t.ended {
		l.last[t.node] = nil
	}
	if l.open--; l.open == 0 {
		delete(t.turns.lines, t.key)
	}
}
