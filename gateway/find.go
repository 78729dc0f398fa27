package gateway

import (
	"fmt"
	"net/http"
	"strings"
)

// find returns the rules that a request meets, outermost first, and the parts of its
// path. It fails if the request could be read as one that meets another rule.
func (p *plan) find(r *http.Request) (chain []*layer, segments []string, err error) {
	escaped := r.URL.EscapedPath()
	segments, plain := split(escaped)
	v := view{methods: []string{r.Method}, host: bareHost(r.Host), header: r.Header, segments: segments, same: exactly}
	detours := view{methods: methodsOf(r), host: v.host, header: r.Header, same: strings.EqualFold}
	ways := straightened(escaped)
	if plain = plain && !crooked(segments); !plain {
		ways = append(ways, segments) // to the letter, as others may have it
	}
	for _, l := range p.layers {
		if plain && l.matches(&v) {
			chain = append(chain, l)
			if !l.Continue {
				return chain, segments, nil
			}
			continue
		}
		for i, way := range ways {
			ends := strings.HasSuffix(escaped, "/")
			if plain && l.slashed && ends != (i == 1) {
				continue
			}
			if detours.segments = way; l.matches(&detours) {
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
