// Package taskgroup counts background tasks, so that Close can wait for them.
package taskgroup

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Group counts tasks in progress. Unlike with a sync.WaitGroup, new tasks may
// begin during a Wait. The zero value is ready for use.
type Group struct {
	n       atomic.Int64
	awaited atomic.Bool // a caller waits; set before n is read

	mu   sync.Mutex
	idle chan struct{} // closed when n is zero; nil unless a caller waits
}

// Begin adds a task.
func (g *Group) Begin() { g.n.Add(1) }

// End removes a task.
func (g *Group) End() {
	if g.n.Add(-1) == 0 && g.awaited.Load() {
		g.notify()
	}
}

// notify wakes the waiting callers, unless a new task has begun.
func (g *Group) notify() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n.Load() == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
		g.awaited.Store(false)
	}
}

// Wait returns a channel that is closed when no task is in progress.
func (g *Group) Wait() <-chan struct{} {
	g.mu.Lock()
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.awaited.Store(true)
	g.mu.Unlock()
	g.notify()
	return idle
}

// Go runs fn as a task in a new goroutine.
func (g *Group) Go(fn func()) {
	g.Begin()
	go func() {
		defer g.End()
		fn()
	}()
}

// Drain waits until no task is in progress. After ctx is done, it waits for at most
// grace, also if ctx was done before the call. Tasks have their own timeouts, so most
// of them end within grace.
func (g *Group) Drain(ctx context.Context, grace time.Duration) {
	ended := g.Wait()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}
