package demo

import (
	"context"
	"errors"
	"sync"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// A trackingEngine counts the locks that may be held on it, so that an interrupted demo
// can report how many it did not release.
type trackingEngine struct {
	engine.Engine

	mu   sync.Mutex           // guards held
	held map[attempt]struct{} // granted or possibly granted, and not confirmed as released
}

// An attempt identifies an acquisition on an engine.
type attempt struct{ holder, id string }

// track wraps e, or a new embedded engine if e is nil.
func track(e engine.Engine) *trackingEngine {
	if e == nil {
		e = memory.New()
	}
	return &trackingEngine{Engine: e, held: make(map[attempt]struct{})}
}

// unreleased returns the number of locks that may still be held.
func (t *trackingEngine) unreleased() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.held)
}

// Acquire implements [engine.Engine].
func (t *trackingEngine) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	g, err := t.Engine.Acquire(ctx, r)
	// After an unknown outcome, the server may have granted the lock.
	if err == nil || errors.Is(err, engine.ErrUnknown) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.held[attempt{r.Holder, r.Attempt}] = struct{}{}
	}
	return g, err
}

// Release implements [engine.Engine].
func (t *trackingEngine) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	result, err := t.Engine.Release(ctx, r)
	t.released(r, err)
	return result, err
}

// Abandon implements [engine.Engine].
func (t *trackingEngine) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	result, err := t.Engine.Abandon(ctx, r)
	t.released(r, err)
	return result, err
}

// released removes an attempt if the engine has confirmed its release.
func (t *trackingEngine) released(r engine.Request, err error) {
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, attempt{r.Holder, r.Attempt})
}
