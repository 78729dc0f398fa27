// Package adapter holds what the adapters of HTTP frameworks share. An adapter runs
// net/http middleware around the handlers of its framework; it decides nothing itself.
package adapter

import (
	"context"
	"net/http"
	"strings"
)

// FieldOutcome is the header field by which a handler states its outcome.
const FieldOutcome = "Interlock-Outcome"

// Pattern returns a framework's route as a pattern of [http.ServeMux]: /orders/:id/* becomes
// /orders/{id}/{path...}. Constraints, as in :id<int>, are left out. A segment that
// has more than one parameter, as :from-:to and :id\:cancel, stays unchanged, so that no other
// route has its pattern.
func Pattern(route string) string {
	if !strings.ContainsAny(route, ":*+") {
		return route
	}
	segments := strings.Split(route, "/")
	for i, s := range segments {
		switch {
		case strings.HasPrefix(s, ":") && !strings.ContainsAny(s[1:], `:\`):
			name, _, _ := strings.Cut(s[1:], "<")
			segments[i] = "{" + strings.TrimSuffix(name, "?") + "}"
		case strings.HasPrefix(s, "*"), strings.HasPrefix(s, "+"):
			segments[i] = "{path...}"
		}
	}
	return strings.Join(segments, "/")
}

// contextKey is the key of a framework's context in the context of a request. Each
// framework has its own type of context.
type contextKey[C any] struct{}

// WithContext returns a copy of a request for middleware: with the framework's context c, so
// that [From] finds it, and with the pattern of the route.
func WithContext[C any](r *http.Request, c C, route string) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), contextKey[C]{}, c))
	r.Pattern = Pattern(route)
	return r
}

// CopyBack copies to a request what the handlers have set in the copy for the middleware: the
// server removes the temporary files of a form, and outer handlers read the pattern.
func CopyBack(to, from *http.Request) {
	if to.MultipartForm == nil {
		to.MultipartForm = from.MultipartForm
	}
	if to.Pattern == "" {
		to.Pattern = from.Pattern
	}
}

// From returns the framework's context of a request. It reports false for a request that did
// not come through the adapter.
func From[C any](r *http.Request) (c C, ok bool) {
	c, ok = r.Context().Value(contextKey[C]{}).(C)
	return c, ok
}

// MustFrom is [From] for functions that cannot report an error. It panics for a request that
// did not come through the adapter, which is a mistake in the program.
func MustFrom[C any](r *http.Request, name string) C {
	c, ok := From[C](r)
	if !ok {
		panic(name + ": the middleware was not passed to Wrap of this package")
	}
	return c
}
