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

// A matcher tells which requests a rule is about.
type matcher struct {
	config.Match
	path     *pattern
	host     string // in lower case
	name     string // the rule, as http.ServeMux would call it
	changing bool   // if no method is named, it is not about those that change nothing
}

func newMatcher(m config.Match, verb rule.Verb) (*matcher, error) {
	p, err := parsePattern(cmp.Or(m.Path, "/"))
	if err != nil {
		return nil, err
	}
	host := bareHost(m.Host)
	return &matcher{Match: m, path: p, host: host, name: host + p.text, changing: verb != rule.Lock}, nil
}

// bareHost returns a host without its port and brackets, as two spellings of it are compared.
func bareHost(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// nameAt returns what the rule is called for a host: whose request it is that a wildcard
// matches is as much a part of it as what is in its path.
func (m *matcher) nameAt(host string) string {
	if strings.HasPrefix(m.host, "*") {
		return bareHost(host) + m.path.text
	}
	return m.name
}

// A view is how a request may be read.
type view struct {
	methods  []string
	host     string
	header   http.Header
	segments []string
	same     func(a, b string) bool // of a part of the path
	loose    bool                   // fields, too, are read as others may
}

func exactly(a, b string) bool { return a == b }

// matches tells whether a request, read so, is one that the rule is about.
func (m *matcher) matches(v *view) bool {
	return m.onMethod(v.methods) && m.onHost(v) && m.path.match(v.segments, v.same) && m.onHeader(v)
}

func (m *matcher) onMethod(methods []string) bool {
	return slices.ContainsFunc(methods, func(name string) bool {
		if len(m.Methods) == 0 {
			return !m.changing || !safe(name)
		}
		if name == http.MethodHead && !m.changing && slices.Contains(m.Methods, http.MethodGet) {
			return true // as http.ServeMux has it, and who answers GET
		}
		return slices.Contains(m.Methods, name)
	})
}

// safe tells whether a method changes nothing.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func (m *matcher) onHost(v *view) bool {
	if v.loose && v.host == "" { // as in HTTP/1.0: whoever is behind decides which it is
		return true
	}
	if parent, wild := strings.CutPrefix(m.host, "*"); wild {
		return strings.HasSuffix(v.host, parent) && len(v.host) > len(parent)
	}
	return m.host == "" || m.host == v.host
}

func (m *matcher) onHeader(v *view) bool {
	for name, want := range m.Header {
		values := v.header.Values(name)
		if v.loose {
			values = loosely(v.header, name)
		}
		same := func(value string) bool { return value == want || v.loose && strings.EqualFold(value, want) }
		if len(values) == 0 || want != "*" && !slices.ContainsFunc(values, same) {
			return false
		}
	}
	return true
}

// loosely returns the values of a field as others may read them: X_Api is X-Api to
// many, and a comma stands between two values.
func loosely(h http.Header, name string) (values []string) {
	for other, list := range h {
		if dashed(other) != name {
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

// dashed returns the name of a field as those read it to whom _ and - are the same.
func dashed(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// overrides are fields in which clients tell some services another method.
var overrides = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// methodsOf returns the methods that a request may be taken to have, besides its own.
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
