package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// find returns the rules that a request meets, outermost first, and the parts of its
// path. It fails if the request could be read as one that meets another rule.
func (p *plan) find(r *http.Request) (chain []*layer, segments []string, err error) {
	escaped := r.URL.EscapedPath()
	segments, plain := split(escaped)
	if len(p.layers) == 0 {
		return nil, segments, nil
	}
	plain = plain && !crooked(segments)
	ways, err := waysOf(escaped, segments, plain)
	if err != nil {
		return nil, nil, err
	}
	v := view{methods: []string{r.Method}, host: bareHost(r.Host), header: r.Header, segments: segments, same: exactly}
	detours := view{methods: methodsOf(r), host: v.host, header: r.Header, same: strings.EqualFold, loose: true}
	for _, l := range p.layers {
		if plain && l.matches(&v) {
			if l.usesPath && !l.Shadow && slices.ContainsFunc(segments, unclear) {
				return nil, nil, fmt.Errorf("%q is not the same path to everybody, and the key of %s is in it", escaped, l.name)
			}
			chain = append(chain, l)
			if l.Last() {
				return chain, segments, nil
			}
			continue
		}
		if l.Shadow { // there is nothing to get past
			continue
		}
		for _, way := range ways {
			if plain && l.slashed && way.slash != strings.HasSuffix(escaped, "/") {
				continue
			}
			if detours.segments = way.segments; l.matches(&detours) {
				return nil, nil, fmt.Errorf("%s %q could be read as %s, which is guarded", r.Method, escaped, l.name)
			}
		}
	}
	return chain, segments, nil
}

// noteSlashes finds the rules whose path another rule has with a slash at its end.
func (b *builder) noteSlashes() {
	for _, l := range b.layers {
		for _, other := range b.layers {
			stem := strings.TrimSuffix(strings.TrimSuffix(other.path.text, "{$}"), "/")
			own := strings.TrimSuffix(strings.TrimSuffix(l.path.text, "{$}"), "/")
			l.slashed = l.slashed || stem == own && other.path.text != l.path.text
		}
	}
}
