// Package trace makes one listener of two.
package trace

// Both returns what calls f and then g. Either may be nil, and then it is the other.
func Both[E any](f, g func(E)) func(E) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(e E) { f(e); g(e) }
}
