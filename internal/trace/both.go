// Package trace combines trace functions.
package trace

import "context"

// Both returns a function that calls f and then g. If one of them is nil, it
// returns the other.
func Both[E any](f, g func(E)) func(E) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(e E) { f(e); g(e) }
}

// Chain returns a function that calls f, and then g with the context that f returned. If
// one of them is nil, it returns the other.
func Chain[E any](f, g func(E) context.Context, with func(E, context.Context) E) func(E) context.Context {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(e E) context.Context { return g(with(e, f(e))) }
}
