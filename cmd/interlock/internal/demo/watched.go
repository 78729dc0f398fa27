package demo

import (
	"context"
	"errors"
	"sync"

	"github.com/interlock-go/interlock/engine"
	"github.com/interlock-go/interlock/engine/memory"
)

// A watched engine keeps count of what may be held in it, so that whoever is
// interrupted can be told the truth about what is left behind.
type watched struct {
	engine.Engine

	mu   sync.Mutex
	held map[attempt]struct{}
}

// An attempt is what an engine knows an acquisition by.
type attempt struct{ holder, id string }

// watch watches e, or an engine in this process if e is nil.
func watch(e engine.Engine) *watched {
	if e == nil {
		e = memory.New()
	}
	return &watched{Engine: e, held: make(map[attempt]struct{})}
}

// left returns how many holds may still be there.
func (w *watched) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held)
}

// Acquire implements [engine.Engine].
func (w *watched) Acquire(ctx context.Context, r engine.Request) (engine.Grant, error) {
	g, err := w.Engine.Acquire(ctx, r)
	if err == nil || errors.Is(err, engine.ErrUnknown) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held[attempt{r.Holder, r.Attempt}] = struct{}{}
	}
	return g, err
}

// Release implements [engine.Engine].
func (w *watched) Release(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	p, err := w.Engine.Release(ctx, r)
	w.ended(r, err)
	return p, err
}

// Abandon implements [engine.Engine].
func (w *watched) Abandon(ctx context.Context, r engine.Request) (engine.ReleaseResult, error) {
	p, err := w.Engine.Abandon(ctx, r)
	w.ended(r, err)
	return p, err
}

// ended forgets a hold if the engine has answered.
func (w *watched) ended(r engine.Request, err error) {
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, attempt{r.Holder, r.Attempt})
}
