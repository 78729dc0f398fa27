// Package taskgroup counts what was started and has not ended, so that whoever
// closes something can wait for it.
package taskgroup

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Group counts what is on its way. Unlike a sync.WaitGroup it may be waited for
// while more begins. The zero value is idle.
type Group struct {
	n       atomic.Int64
	awaited atomic.Bool // somebody waits; set before n is looked at

	mu   sync.Mutex
	idle chan struct{} // closed when n is zero; nil unless somebody waits
}

// Begin counts one more, until End.
func (g *Group) Begin() { g.n.Add(1) }

// End counts one less.
func (g *Group) End() {
	if g.n.Add(-1) == 0 && g.awaited.Load() {
		g.tell()
	}
}

// tell tells who waits that nothing is on its way, unless something has begun.
func (g *Group) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n.Load() == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
		g.awaited.Store(false)
	}
}

// Wait returns a channel that is closed once nothing is on its way.
func (g *Group) Wait() <-chan struct{} {
	g.mu.Lock()
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.awaited.Store(true)
	g.mu.Unlock()
	g.tell()
	return idle
}

// Go runs fn in a goroutine of its own, which ends when fn does.
func (g *Group) Go(fn func()) {
	g.Begin()
	go func() {
		defer g.End()
		fn()
	}()
}

// Drain waits until nothing is on its way, or ctx is done and a grace is over: what
// is on its way has bounds of its own, and may need a moment that ctx, which may
// have been over for long, does not give.
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
