package gateway

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/gateway/config"
	"github.com/interlock-go/interlock/rule"
)

// A matcher decides which requests a rule applies to.
type matcher struct {
	config.Match
	path    *pattern
	also    []*pattern // further paths
	host    string     // in lower case
	name    string     // host and path, as a pattern of http.ServeMux
	guarded bool       // a once or submit rule, which by default skips methods that change nothing
}

// newMatcher returns the matcher of a rule. The verb decides which methods match by
// default.
func newMatcher(m config.Match, verb rule.Verb) (*matcher, error) {
	p, err := parsePattern(cmp.Or(m.Path, "/"))
	if err != nil {
		return nil, err
	}
	host := bareHost(m.Host)
	matcher := &matcher{Match: m, path: p, host: host, name: host + p.text, guarded: verb.Guards()}
	for _, text := range m.Also {
		also, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		matcher.also = append(matcher.also, also)
	}
	return matcher, nil
}

// pathOf returns the pattern that a path matches, or nil.
func (m *matcher) pathOf(segments []string, same func(a, b string) bool) *pattern {
	if m.path.match(segments, same) {
		return m.path
	}
	for _, p := range m.also {
		if p.match(segments, same) {
			return p
		}
	}
	return nil
}

// bareHost returns a host in lower case, without port, brackets and final dot.
func bareHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// nameAt returns the rule's name for a host. If a wildcard matches the host, each host
// has a name of its own, so that tenants do not share keys.
func (m *matcher) nameAt(host string) string {
	if strings.HasPrefix(m.host, "*") {
		return bareHost(host) + m.path.text
	}
	return m.name
}

// A reading is one way to read a request.
type reading struct {
	methods  []string
	host     string
	header   http.Header
	segments []string
	same     func(a, b string) bool // compares two parts of a path
	loose    bool                   // read header fields as tolerant upstreams do
}

// exactly is how the gateway itself compares; the loose reading ignores case.
func exactly(a, b string) bool { return a == b }

// matches reports whether the rule applies to a request in that reading.
func (m *matcher) matches(r *reading) bool {
	return m.matchesMethod(r.methods) && m.matchesHost(r) && m.pathOf(r.segments, r.same) != nil && m.matchesHeader(r)
}

// matchesMethod reports whether the rule applies to one of the methods. If the rule names
// none, a lock applies to all methods, and a guard to those that may change something.
func (m *matcher) matchesMethod(methods []string) bool {
	return slices.ContainsFunc(methods, func(name string) bool {
		if len(m.Methods) == 0 {
			return !m.guarded || !safe(name)
		}
		if name == http.MethodHead && !m.guarded && slices.Contains(m.Methods, http.MethodGet) {
			return true // as in http.ServeMux
		}
		return slices.Contains(m.Methods, name)
	})
}

// safe reports whether a method changes nothing.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// matchesHost compares hosts. A wildcard stands for at least one label.
func (m *matcher) matchesHost(r *reading) bool {
	if r.loose && r.host == "" { // HTTP/1.0: the upstream picks its default host
		return true
	}
	if parent, wild := strings.CutPrefix(m.host, "*"); wild {
		return strings.HasSuffix(r.host, parent) && len(r.host) > len(parent)
	}
	return m.host == "" || m.host == r.host
}

// matchesHeader reports whether all required fields are there. One of several values is
// enough, because an upstream may read any of them.
func (m *matcher) matchesHeader(r *reading) bool {
	for name, want := range m.Header {
		values := r.header.Values(name)
		if r.loose {
			values = looseValues(r.header, name)
		}
		same := func(value string) bool { return value == want || r.loose && strings.EqualFold(value, want) }
		if len(values) == 0 || want != "*" && !slices.ContainsFunc(values, same) {
			return false
		}
	}
	return true
}

// looseValues returns the values of a field as a tolerant upstream reads them: X_Api is
// X-Api, and a comma separates two values.
func looseValues(h http.Header, name string) (values []string) {
	for sent, list := range h {
		if dashed(sent) != name {
			continue
		}
		values = append(values, list...)
		for _, value := range list {
			for part := range strings.SplitSeq(value, ",") {
				values = append(values, strings.TrimSpace(part))
			}
		}
	}
	return values
}

// dashed returns the name of a field with - for every other mark. CGI and its successors
// read all marks as an underscore.
func dashed(name string) string {
	mark := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	}
	if !strings.ContainsFunc(name, mark) {
		return name
	}
	return http.CanonicalHeaderKey(strings.Map(func(c rune) rune {
		if mark(c) {
			return '-'
		}
		return c
	}, name))
}

// overrides are fields by which some frameworks replace the method.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// methodsOf returns every method that an upstream may read in a request: its own, and
// those in override fields and in the query parameter _method.
func methodsOf(r *http.Request) []string {
	methods := []string{r.Method, strings.ToUpper(r.Method)}
	add := func(value string) { methods = append(methods, strings.ToUpper(strings.TrimSpace(value))) }
	for name, values := range r.Header {
		if slices.Contains(overrides, dashed(name)) {
			for _, value := range values {
				add(value)
			}
		}
	}
	// net/url rejects a semicolon between parameters, but older frameworks still split
	// there.
	between := func(c rune) bool { return c == '&' || c == ';' }
	for pair := range strings.FieldsFuncSeq(r.URL.RawQuery, between) {
		name, value, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err == nil && strings.EqualFold(name, "_method") {
			if value, err := url.QueryUnescape(value); err == nil {
				add(value)
			}
		}
	}
	return methods
}
