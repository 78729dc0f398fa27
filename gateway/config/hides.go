package config

import (
	"slices"
	"strings"
)

// hides reports whether every request of other also matches r. It may miss a case, such as
// two rules that together hide a third.
func (r *Rule) hides(other *Rule) bool {
	a, b := &r.Match, &other.Match
	for name, want := range a.Header {
		if value, ok := b.Header[name]; !ok || want != "*" && value != want {
			return false
		}
	}
	return r.hidesMethods(other) && hidesHost(a.Host, b.Host) &&
		!slices.ContainsFunc(append([]string{b.Path}, b.Also...), func(path string) bool {
			return !slices.ContainsFunc(append([]string{a.Path}, a.Also...), func(wider string) bool { return hidesPath(wider, path) })
		})
}

// hidesMethods compares methods. A lock or a limit without methods has all of them, and a
// guard without methods has those that change something.
func (r *Rule) hidesMethods(other *Rule) bool {
	a, b := r.Match.Methods, other.Match.Methods
	switch {
	case len(a) == 0 && !r.Do.Verb.Guards():
		return true
	case len(a) == 0:
		return other.Do.Verb.Guards() || len(b) > 0 && !slices.ContainsFunc(b, func(m string) bool { return slices.Contains(safeMethods, m) })
	}
	return len(b) > 0 && !slices.ContainsFunc(b, func(m string) bool { return !slices.Contains(a, m) })
}

// hidesHost compares hosts.
func hidesHost(a, b string) bool {
	parent, wild := strings.CutPrefix(a, "*")
	return a == "" || a == b || wild && strings.HasSuffix(b, parent) && len(b) > len(parent)
}

// hidesPath compares patterns of http.ServeMux.
func hidesPath(a, b string) bool {
	wide, below := pathSegments(a)
	narrow, deep := pathSegments(b)
	switch {
	case !below && (deep || len(wide) != len(narrow)):
		return false
	// A pattern for everything below a path needs a further segment.
	case below && len(narrow) < len(wide), below && len(narrow) == len(wide) && !deep:
		return false
	}
	for i, s := range wide {
		wildcard := strings.HasPrefix(s, "{")
		if !wildcard && s != narrow[i] || wildcard && narrow[i] == "" {
			return false
		}
	}
	return true
}

// pathSegments returns the segments of a pattern, and whether it matches everything below
// them. {$} is an empty segment.
func pathSegments(path string) (segments []string, below bool) {
	segments = strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := len(segments) - 1
	switch s := segments[last]; {
	case s == "", strings.HasSuffix(s, "...}"):
		return segments[:last], true
	case s == "{$}":
		segments[last] = ""
	}
	return segments, false
}
