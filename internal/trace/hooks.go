package trace

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Hooks are functions that are called with each event. The zero value has none.
type Hooks[E any] struct {
	mu    sync.Mutex // for changes
	hooks atomic.Pointer[[]*func(E)]
}

// Add calls f with each event until stop is called. It recovers the panics of f.
func (h *Hooks[E]) Add(f func(E)) (stop func()) {
	f = Both(nil, f)
	h.change(func(hooks []*func(E)) []*func(E) { return append(hooks, &f) })
	return func() {
		h.change(func(hooks []*func(E)) []*func(E) {
			return slices.DeleteFunc(hooks, func(g *func(E)) bool { return g == &f })
		})
	}
}

// change replaces the functions, because readers use no mutex.
func (h *Hooks[E]) change(edit func([]*func(E)) []*func(E)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var hooks []*func(E)
	if p := h.hooks.Load(); p != nil {
		hooks = slices.Clone(*p)
	}
	if hooks = edit(hooks); len(hooks) == 0 {
		h.hooks.Store(nil)
		return
	}
	h.hooks.Store(&hooks)
}

// Active reports whether there are functions to call.
func (h *Hooks[E]) Active() bool { return h.hooks.Load() != nil }

// Call calls the functions.
func (h *Hooks[E]) Call(e E) {
	if hooks := h.hooks.Load(); hooks != nil {
		for _, f := range *hooks {
			(*f)(e)
		}
	}
}
