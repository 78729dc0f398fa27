// Package trace combines trace functions.
package trace

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
