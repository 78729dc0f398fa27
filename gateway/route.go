package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/interlockhttp"
)

// ambiguous returns the problem of a request that an upstream may read differently.
func ambiguous(format string, args ...any) *interlockhttp.Problem {
	p := interlockhttp.NewProblem(interlockhttp.RequestAmbiguous)
	p.Err = fmt.Errorf(format, args...)
	return p
}

// find returns the rules that match a request, outermost first, and the parts of its
// path. It fails if an upstream could read the request as one that matches another rule.
func (s *snapshot) find(r *http.Request) (rules []*ruleHandler, segments []string, err error) {
	escaped := r.URL.EscapedPath()
	segments, plain := split(escaped)
	// Without rules there is nothing to bypass, and every path passes.
	if len(s.rules) == 0 {
		return nil, segments, nil
	}
	plain = plain && !irregular(segments)
	paths, err := pathReadings(escaped, segments, plain)
	if err != nil {
		return nil, nil, err
	}
	strict := reading{methods: []string{r.Method}, host: bareHost(r.Host), header: r.Header, segments: segments, same: exactly}
	// strict is how the gateway reads the request; loose is every other way in which an
	// upstream might.
	loose := reading{methods: methodsOf(r), host: strict.host, header: r.Header, same: strings.EqualFold, loose: true}
	for _, h := range s.rules {
		// A rule for every path applies in every reading.
		if (plain || h.path.everything()) && h.matches(&strict) {
			if h.usesPath && !h.Shadow && slices.ContainsFunc(segments, ambiguousSegment) {
				return nil, nil, fmt.Errorf("%q can be read as another path, and the key of %s contains a part of it", escaped, h.name)
			}
			rules = append(rules, h)
			if h.Last() {
				return rules, segments, nil
			}
			continue
		}
		if h.Shadow { // a shadow rule protects nothing
			continue
		}
		// The rule does not match. Refuse the request if an upstream could read it so that
		// the rule would match.
		for _, path := range paths {
			// Rails runs the action of /orders for /orders.css, too. That is harmless if the
			// method changes nothing, and GET /orders.css is an ordinary stylesheet.
			if path.extension && !slices.ContainsFunc(loose.methods, func(m string) bool { return !safe(m) }) {
				continue
			}
			// With h.slashed, another rule's path differs from h's only in the final slash. The
			// slash then decides: skip a reading that adds or drops it.
			if plain && h.slashed && path.slash != strings.HasSuffix(escaped, "/") {
				continue
			}
			if loose.segments = path.segments; h.matches(&loose) {
				return nil, nil, fmt.Errorf("%s %q could be read as %s, which is guarded", r.Method, escaped, h.name)
			}
		}
	}
	return rules, segments, nil
}

// setSlashed finds the rules whose paths differ only in the final slash. For these the
// slash decides, and a request with the other spelling is not ambiguous.
func (b *builder) setSlashed() {
	stem := func(h *ruleHandler) string {
		return strings.TrimSuffix(strings.TrimSuffix(h.path.text, "{$}"), "/")
	}
	for _, h := range b.rules {
		for _, other := range b.rules {
			h.slashed = h.slashed || stem(other) == stem(h) && other.path.text != h.path.text
		}
	}
}
