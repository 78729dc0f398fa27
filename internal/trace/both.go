// Package trace calls trace functions. It combines several into one, recovers their panics,
// and keeps slow ones out of the goroutines that many locks share.
package trace

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Both returns a function that calls f and then g, and recovers the panics of g. f is nil
// or was made by Both, so its panics are recovered already.
func Both[E any](f, g func(E)) func(E) {
	if g == nil {
		return f
	}
	var panics Panics
	if f == nil {
		return func(e E) {
			defer panics.Recover()
			g(e)
		}
	}
	return func(e E) {
		f(e)
		defer panics.Recover()
		g(e)
	}
}

// Chain returns a function that calls f, and then g with the context that f returned. f is
// nil or was made by Chain. If g panics or returns nil, the context is the one that f
// returned.
func Chain[E any](f, g func(E) context.Context, of func(E) context.Context, with func(E, context.Context) E) func(E) context.Context {
	if g == nil {
		return f
	}
	var panics Panics
	return func(e E) (ctx context.Context) {
		if f != nil {
			e = with(e, f(e))
		}
		defer func() { // after Recover
			if ctx == nil {
				ctx = of(e)
			}
		}()
		defer panics.Recover()
		return g(e)
	}
}

// Panics recovers the panics of one function. A fault in a trace must not break a lock.
type Panics struct{ reported sync.Once }

// Recover ends a panic. It is a deferred call. The first panic is reported to the default
// logger, since the trace's own logger may be at fault.
func (p *Panics) Recover() {
	value := recover()
	if value == nil {
		return
	}
	defer func() { _ = recover() }() // the default logger may be at fault, too
	p.reported.Do(func() {
		slog.Default().Error("interlock: a trace function panicked; its further panics are not logged", "panic", value, "stack", string(debug.Stack()))
	})
}
