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
	for i, h := range s.rules {
		// A rule for every path applies in every reading.
		if (plain || h.path.everything()) && h.matches(&strict) {
			if h.usesPath && !h.Shadow && slices.ContainsFunc(segments, ambiguousSegment) {
				return nil, nil, fmt.Errorf("%q can be read as another path, and the key of %s contains a part of it", escaped, h.name)
			}
			rules = append(rules, h)
			if h.Last() {
				return rules, segments, evades(h, s.rules[i+1:], &strict, &loose, paths, escaped)
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

// evades returns an error if a request that matches a rule could be read so that it matches
// a later rule, and not the first one. A field or the query may replace the request's
// method, or a wildcard of the first rule may match parts that an upstream removes: Tomcat
// reads /files/..;/orders as /orders.
func evades(first *ruleHandler, later []*ruleHandler, strict, loose *reading, paths []pathReading, escaped string) error {
	for _, h := range later {
		if name := first.conflict(h, strict); name != "" {
			return fmt.Errorf("the field %s has several values, for which different rules apply", name)
		}
	}
	replaced := slices.ContainsFunc(loose.methods, func(m string) bool { return m != strict.methods[0] })
	ambiguousPath := slices.ContainsFunc(strict.segments, ambiguousSegment)
	if !replaced && !ambiguousPath {
		return nil
	}
	withAllMethods := *strict
	withAllMethods.methods = loose.methods
	for _, h := range later {
		if h.Shadow || h.matches(strict) { // of two rules that match, the first one applies
			continue
		}
		found := h.matches(&withAllMethods)
		for i := 0; ambiguousPath && !found && i < len(paths); i++ {
			loose.segments = paths[i].segments
			found = h.matches(loose)
		}
		if found {
			return fmt.Errorf("%s %q could be read as %s, which another rule guards", strict.methods[0], escaped, h.name)
		}
	}
	return nil
}

// conflict returns a field in which the request has the values of both rules, or "". The
// gateway and the upstream could read different values.
func (h *ruleHandler) conflict(other *ruleHandler, r *reading) string {
	for name, want := range h.Header {
		values := r.header.Values(name)
		several := slices.ContainsFunc(values, func(v string) bool { return v != values[0] })
		if otherValue, ok := other.Header[name]; ok && otherValue != want && several && !other.Shadow && other.matches(r) {
			return name
		}
	}
	return ""
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
