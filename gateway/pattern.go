package gateway

import (
	"fmt"
	"net/url"
	"strings"
)

// A pattern is a path in the syntax of http.ServeMux: /orders/{id}, /files/{rest...},
// /shop/ for everything below it, and /shop/{$} for that path alone. ServeMux itself
// cannot be used, because it redirects //orders and /shop instead of reporting them.
type pattern struct {
	text     string
	segments []segment
	below    bool   // any further segments match
	rest     string // the name of the wildcard that gets them; may be empty
}

// A segment is a literal or a wildcard between two slashes.
type segment struct {
	literal string
	name    string // the wildcard's name; empty for a literal
}

// parsePattern parses a pattern.
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
		// /shop/ matches everything below it, but not /shop itself; see match.
		case part == "" && last:
			p.below = true
		case !wild:
			literal, err := url.PathUnescape(part)
			if err != nil || part == "" || strings.ContainsAny(part, "{}") {
				return nil, fmt.Errorf("gateway: the part %[2]q of the path %[1]q is neither a name nor a {wildcard}", text, part)
			}
			p.segments = append(p.segments, segment{literal: literal})
		case !closed || !last && strings.HasSuffix(name, "..."):
			return nil, fmt.Errorf("gateway: the path %q has a misplaced wildcard %q: {name...} and {$} stand at the end", text, part)
		case name == "$" && last:
			p.segments = append(p.segments, segment{}) // the empty segment behind the final slash
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

// match reports whether a path matches the pattern; same compares two segments.
func (p *pattern) match(segments []string, same func(a, b string) bool) bool {
	n := len(p.segments)
	if len(segments) < n || !p.below && len(segments) > n || p.below && len(segments) == n {
		return false
	}
	for i, s := range p.segments {
		switch {
		// A wildcard stands for a value. An empty one would give all such requests the
		// same key.
		case s.name != "" && segments[i] == "":
			return false
		case s.name == "" && !same(s.literal, segments[i]):
			return false
		}
	}
	return true
}

// everything reports whether the pattern matches every path and uses none of it.
func (p *pattern) everything() bool { return p.below && len(p.segments) == 0 && p.rest == "" }

// values calls set for each wildcard of the pattern, which must match the path.
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

// split returns the segments of a path, decoded once. A final slash yields an empty last
// segment. It returns false if the text is not a path.
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
