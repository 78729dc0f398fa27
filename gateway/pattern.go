package gateway

import (
	"fmt"
	"net/url"
	"strings"
)

// A pattern is a path as http.ServeMux writes them: /orders/{id}, /files/{rest...},
// /shop/ for everything below, and /shop/{$} for that alone.
type pattern struct {
	text     string
	segments []segment
	below    bool   // whatever follows matches, too
	rest     string // what that is called; empty if it has no name
}

// A segment is what stands between two slashes.
type segment struct {
	literal string
	name    string // of a wildcard, which has no literal
}

// parsePattern reads a pattern.
func parsePattern(text string) (*pattern, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, fmt.Errorf("gateway: the path %q does not begin with a slash", text)
	}
	p := &pattern{text: text}
	parts := strings.Split(text[1:], "/")
	for i, part := range parts {
		last := i == len(parts)-1
		name, wild := strings.CutPrefix(part, "{")
		name, closed := strings.CutSuffix(name, "}")
		switch {
		case part == "" && last:
			p.below = true
		case !wild:
			literal, err := url.PathUnescape(part)
			if err != nil || part == "" || strings.ContainsAny(part, "{}") {
				return nil, fmt.Errorf("gateway: the path %q has a part that is no name and no {wildcard}: %q", text, part)
			}
			p.segments = append(p.segments, segment{literal: literal})
		case !closed || !last && strings.HasSuffix(name, "..."):
			return nil, fmt.Errorf("gateway: the path %q has the wildcard %q where none can be", text, part)
		case name == "$" && last:
			p.segments = append(p.segments, segment{}) // the slash at the end
		case strings.HasSuffix(name, "..."):
			p.below, p.rest = true, strings.TrimSuffix(name, "...")
		case name == "":
			return nil, fmt.Errorf("gateway: the path %q has a wildcard without a name", text)
		default:
			p.segments = append(p.segments, segment{name: name})
		}
	}
	return p, nil
}

// match tells whether segments match the pattern; same compares two of them.
func (p *pattern) match(segments []string, same func(a, b string) bool) bool {
	n := len(p.segments)
	if len(segments) < n || !p.below && len(segments) > n || p.below && len(segments) == n {
		return false
	}
	for i, s := range p.segments {
		switch {
		case s.name != "" && segments[i] == "":
			return false
		case s.name == "" && !same(s.literal, segments[i]):
			return false
		}
	}
	return true
}

// values calls set for every wildcard of the pattern, which the segments match.
func (p *pattern) values(segments []string, set func(name, value string)) {
	for i, s := range p.segments {
		if s.name != "" {
			set(s.name, segments[i])
		}
	}
	if p.rest != "" {
		set(p.rest, strings.Join(segments[len(p.segments):], "/"))
	}
}

// split returns what stands between the slashes of a path, decoded once. A slash at
// the end leaves an empty one behind. It fails for what is no path.
func split(escaped string) ([]string, bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	segments := strings.Split(rest, "/")
	if !strings.Contains(rest, "%") {
		return segments, true
	}
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return nil, false
		}
		segments[i] = plain
	}
	return segments, true
}
