package quorum

import (
	"slices"
	"sync"

	"github.com/interlock-go/interlock/engine"
)

// A notifier merges the wake-ups of all nodes.
type notifier struct{ *Engine }

// Notify implements [engine.Notifier]. Who waits is told when most nodes have told
// so: what a minority gives back is of no use to anybody.
func (n notifier) Notify(r engine.Request) (wake <-chan struct{}, stop func()) {
	return n.listen(n.need, func(part *node) (<-chan struct{}, func()) {
		if part.can.Notifier == nil {
			return nil, func() {}
		}
		return part.can.Notifier.Notify(r)
	})
}

// listen listens to all nodes, and wakes when as many as needed have told more than
// at the last time.
func (e *Engine) listen(need int, listen func(*node) (<-chan struct{}, func())) (wake <-chan struct{}, stop func()) {
	x := &ear{need: need, heard: make([]int, len(e.nodes)), wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	if err := e.enter(); err != nil {
		return x.wake, func() {}
	}
	defer e.leave()
	wakes, stops := make([]<-chan struct{}, len(e.nodes)), make([]func(), len(e.nodes))
	for i, n := range e.nodes {
		if wakes[i], stops[i] = listen(n); wakes[i] == nil {
			x.deaf++
		}
	}
	for i, from := range wakes {
		if from != nil {
			e.running.Go(func() { e.hear(x, i, from) }) // until stop, or Close
		}
	}
	return x.wake, sync.OnceFunc(func() {
		for _, stop := range stops {
			stop()
		}
		close(x.stopped)
	})
}

func (e *Engine) hear(x *ear, i int, from <-chan struct{}) {
	for {
		select {
		case <-from:
			x.hear(i)
		case <-x.stopped:
			return
		case <-e.ended:
			return
		}
	}
}

// An ear is somebody who listens.
type ear struct {
	need    int
	deaf    int // nodes that tell nothing
	wake    chan struct{}
	stopped chan struct{}

	mu    sync.Mutex
	heard []int // how often each node has told something
	woken int
}

// hear notes that a node has told something.
func (x *ear) hear(i int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.heard[i] = max(x.heard[i], x.woken-1) + 1 // what it has missed it will not make up for
	sorted := slices.Sorted(slices.Values(x.heard))
	need := min(x.need, len(sorted)-x.deaf)
	if told := sorted[len(sorted)-need]; told > x.woken {
		x.woken = told
		select {
		case x.wake <- struct{}{}:
		default: // the last one has not been taken yet: they merge
		}
	}
}
